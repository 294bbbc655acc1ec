// The scalar functions of pointwise and select ops: name, number of arguments, and the f32 expression of the
// arguments a, b, c and of the step's `constant`, `inverted` and `rounding` that every kernel evaluates, on
// the CPU and on the GPU (in C++17). Ops become steps with one of these functions in scalar_step.cc; a
// function in an expression stands in float_functions.h.
#pragma once

namespace fusesmith::backends {

// clang-format off
#define FUSESMITH_FOR_EACH_SCALAR_OP(X)                                     \
  X(constant, 0, constant)                                                  \
  X(add, 2, a + b)                                                          \
  X(sub, 2, a - b)                                                          \
  X(mul, 2, a * b)                                                          \
  X(div, 2, a / b)                                                          \
  X(maximum, 2, maximum(a, b))                                              \
  X(scale, 1, a * constant)                                                 \
  X(scale_divide, 1, a / constant)                                          \
  X(relu, 1, relu(a))                                                       \
  X(relu_backward, 2, relu_backward(a, b))                                  \
  X(gelu_erf, 1, gelu_erf(a))                                               \
  X(gelu_tanh, 1, gelu_tanh(a))                                             \
  X(silu, 1, silu(a))                                                       \
  X(sigmoid, 1, sigmoid(a))                                                 \
  X(tanh, 1, tanhf(a))                                                      \
  X(erf, 1, erff(a))                                                        \
  X(exp, 1, expf(a))                                                        \
  X(log, 1, logf(a))                                                        \
  X(sqrt, 1, sqrtf(a))                                                      \
  X(rsqrt, 1, rsqrt_function(a))                                            \
  X(softcap, 1, softcap(a, constant))                                       \
  X(round, 1, round_to(rounding, a))                                        \
  X(where, 3, a != 0 ? b : c)                                               \
  X(masked_fill, 2, (b != 0) != inverted ? constant : a)
// clang-format on

enum class ScalarOp : int {
#define FUSESMITH_SCALAR_OP(name, arity, expression) name,
  FUSESMITH_FOR_EACH_SCALAR_OP(FUSESMITH_SCALAR_OP)
#undef FUSESMITH_SCALAR_OP
};

inline constexpr int kMaxScalarArguments = 3;

}  // namespace fusesmith::backends

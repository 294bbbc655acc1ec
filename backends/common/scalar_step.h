// Pointwise and select ops as scalar functions (scalar_op.h) of elements in f32.
#pragma once

#include <array>
#include <span>
#include <type_traits>
#include <vector>

#include "backends/common/float_functions.h"
#include "backends/common/scalar_op.h"
#include "graph/pointwise_formula.h"

namespace fusesmith::backends {

struct ScalarStep {
  ScalarOp op = ScalarOp::constant;
  float constant = 0;
  bool inverted = false;
  RoundTo rounding = {};
};

// What an op of class pointwise or select does to each element, whose value has `dtype` in the graph. A scale
// without arguments is its factor. Constants are rounded as every kernel rounds them: the factor of scale and
// the cap of softcap to f32, the value of masked_fill to `dtype`.
ScalarStep scalar_step(const Op& op, Dtype dtype, size_t arguments);
inline ScalarStep scalar_step(const PointwiseStep& step) {
  return scalar_step(step.op, step.dtype, step.arguments.size());
}

int argument_count(ScalarOp op);

// Whether a kernel of scalar functions computes the op as a node of its own. Where and masked_fill choose
// bits.
template <class T>
inline constexpr bool kComputesElements = (T::info.op_class == OpClass::pointwise ||
                                           T::info.op_class == OpClass::select) &&
                                          !std::is_same_v<T, Where> && !std::is_same_v<T, MaskedFill>;

template <int kCount>
using ArgumentCount = std::integral_constant<int, kCount>;

// use(ArgumentCount<n>(), f) with the step's function f(a, b, c), which ignores arguments that it does not
// have.
template <class Use>
void with_function(const ScalarStep& step, Use use) {
  const float constant = step.constant;
  const bool inverted = step.inverted;
  const RoundTo rounding = step.rounding;
  const auto round_to = [](const RoundTo& to, float x) { return static_cast<float>(to(x)); };
  switch (step.op) {
#define FUSESMITH_SCALAR_OP(name, arity, expression)                                                        \
  case ScalarOp::name:                                                                                      \
    return use(ArgumentCount<arity>(),                                                                      \
               [=]([[maybe_unused]] float a, [[maybe_unused]] float b, [[maybe_unused]] float c) -> float { \
                 return expression;                                                                         \
               });
    FUSESMITH_FOR_EACH_SCALAR_OP(FUSESMITH_SCALAR_OP)
#undef FUSESMITH_SCALAR_OP
  }
}

using ScalarArguments = std::array<const float*, kMaxScalarArguments>;

// The step's value for each element of y; its arguments have as many elements.
void run_step(const ScalarStep& step, const ScalarArguments& x, std::span<float> y);

// A formula for each element of y; every operand has as many elements.
void run_formula(const PointwiseFormula& formula, std::span<const std::vector<float>> operands,
                 std::span<float> y);

}  // namespace fusesmith::backends

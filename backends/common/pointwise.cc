// Pointwise ops: each element in f32 by one expression, rounded once to the storage dtype.
#include "backends/common/float_functions.h"
#include "backends/common/floats.h"
#include "backends/common/kernels.h"
#include "backends/common/shown_step.h"
#include "backends/common/strided.h"

namespace fusesmith::backends {
namespace {

template <class T, class F>
void unary(const T& op, Inputs in, Outputs out, const KernelOptions& options, F f) {
  if (show_elements<1>(op, in, out[0], options, f)) return;
  const Floats x(*in[0]);
  write_floats(out[0], [&](std::span<float> y) {
    for (size_t i = 0; i < y.size(); ++i) y[i] = f(x[i]);
  });
}

template <class T, class F>
void binary(const T& op, Inputs in, Outputs out, const KernelOptions& options, F f) {
  if (show_elements<2>(op, in, out[0], options, f)) return;
  const Floats a(*in[0]), b(*in[1]);
  const Shape& shape = out[0].type.shape;
  const Strided<2> space{
      shape, {broadcast_strides(in[0]->type.shape, shape), broadcast_strides(in[1]->type.shape, shape)}};
  write_floats(out[0], [&](std::span<float> y) {
    float* to = y.data();
    for_each_row(space, [&](const std::array<int64_t, 2>& offsets, int64_t count,
                            const std::array<int64_t, 2>& steps) {
      const float *x0 = a.data() + offsets[0], *x1 = b.data() + offsets[1];
      for (int64_t i = 0; i < count; ++i) to[i] = f(x0[i * steps[0]], x1[i * steps[1]]);
      to += count;
    });
  });
}

}  // namespace

void compute(const Add& op, Inputs in, Outputs out, const KernelOptions& options) {
  binary(op, in, out, options, [](float a, float b) { return a + b; });
}
void compute(const Sub& op, Inputs in, Outputs out, const KernelOptions& options) {
  binary(op, in, out, options, [](float a, float b) { return a - b; });
}
void compute(const Mul& op, Inputs in, Outputs out, const KernelOptions& options) {
  binary(op, in, out, options, [](float a, float b) { return a * b; });
}
void compute(const Div& op, Inputs in, Outputs out, const KernelOptions& options) {
  binary(op, in, out, options, [](float a, float b) { return a / b; });
}
void compute(const Maximum& op, Inputs in, Outputs out, const KernelOptions& options) {
  binary(op, in, out, options, maximum);
}

void compute(const Scale& op, Inputs in, Outputs out, const KernelOptions& options) {
  const float factor = static_cast<float>(op.factor);
  if (op.inverse)
    unary(op, in, out, options, [=](float x) { return x / factor; });
  else
    unary(op, in, out, options, [=](float x) { return x * factor; });
}

void compute(const Relu& op, Inputs in, Outputs out, const KernelOptions& options) {
  unary(op, in, out, options, relu);
}
void compute(const Silu& op, Inputs in, Outputs out, const KernelOptions& options) {
  unary(op, in, out, options, silu);
}
void compute(const Sigmoid& op, Inputs in, Outputs out, const KernelOptions& options) {
  unary(op, in, out, options, sigmoid);
}
void compute(const Rsqrt& op, Inputs in, Outputs out, const KernelOptions& options) {
  unary(op, in, out, options, reciprocal_sqrt);
}
void compute(const Tanh& op, Inputs in, Outputs out, const KernelOptions& options) {
  unary(op, in, out, options, [](float x) { return std::tanh(x); });
}
void compute(const Exp& op, Inputs in, Outputs out, const KernelOptions& options) {
  unary(op, in, out, options, [](float x) { return std::exp(x); });
}
void compute(const Sqrt& op, Inputs in, Outputs out, const KernelOptions& options) {
  unary(op, in, out, options, [](float x) { return std::sqrt(x); });
}
void compute(const Softcap& op, Inputs in, Outputs out, const KernelOptions& options) {
  unary(op, in, out, options, [cap = static_cast<float>(op.cap)](float x) { return softcap(x, cap); });
}

void compute(const Gelu& op, Inputs in, Outputs out, const KernelOptions& options) {
  switch (op.form) {
    case Gelu::Form::erf:
      return unary(op, in, out, options, gelu_erf);
    case Gelu::Form::tanh:
      return unary(op, in, out, options, gelu_tanh);
  }
}

void compute(const Cast& op, Inputs in, Outputs out, const KernelOptions& options) {
  const Tensor& x = *in[0];
  const auto rounded = [dtype = op.dtype](float value) { return static_cast<float>(round_to(dtype, value)); };
  if (is_float(x.type.dtype) && show_elements<1>(op, in, out[0], options, rounded)) return;
  if (is_float(x.type.dtype)) return unary(op, in, out, {}, [](float value) { return value; });
  // By way of f32, large integers would be rounded twice.
  for (int64_t i = 0; i < x.size(); ++i) out[0].set(i, x.value(i));
}

}  // namespace fusesmith::backends

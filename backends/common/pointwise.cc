// Pointwise ops: each element in f32 by one expression, rounded once to the storage dtype.
#include "backends/common/float_functions.h"
#include "backends/common/floats.h"
#include "backends/common/kernels.h"
#include "backends/common/strided.h"

namespace fusesmith::backends {
namespace {

template <class F>
void unary(Inputs in, Outputs out, F f) {
  const Floats x(*in[0]);
  write_floats(out[0], [&](std::span<float> y) {
    for (size_t i = 0; i < y.size(); ++i) y[i] = f(x[i]);
  });
}

template <class F>
void binary(Inputs in, Outputs out, F f) {
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

void compute(const Add&, Inputs in, Outputs out, const KernelOptions&) {
  binary(in, out, [](float a, float b) { return a + b; });
}
void compute(const Sub&, Inputs in, Outputs out, const KernelOptions&) {
  binary(in, out, [](float a, float b) { return a - b; });
}
void compute(const Mul&, Inputs in, Outputs out, const KernelOptions&) {
  binary(in, out, [](float a, float b) { return a * b; });
}
void compute(const Div&, Inputs in, Outputs out, const KernelOptions&) {
  binary(in, out, [](float a, float b) { return a / b; });
}
void compute(const Maximum&, Inputs in, Outputs out, const KernelOptions&) { binary(in, out, maximum); }

void compute(const Scale& op, Inputs in, Outputs out, const KernelOptions&) {
  const float factor = static_cast<float>(op.factor);
  if (op.inverse)
    unary(in, out, [=](float x) { return x / factor; });
  else
    unary(in, out, [=](float x) { return x * factor; });
}

void compute(const Relu&, Inputs in, Outputs out, const KernelOptions&) { unary(in, out, relu); }
void compute(const Silu&, Inputs in, Outputs out, const KernelOptions&) { unary(in, out, silu); }
void compute(const Sigmoid&, Inputs in, Outputs out, const KernelOptions&) { unary(in, out, sigmoid); }
void compute(const Rsqrt&, Inputs in, Outputs out, const KernelOptions&) { unary(in, out, reciprocal_sqrt); }
void compute(const Tanh&, Inputs in, Outputs out, const KernelOptions&) {
  unary(in, out, [](float x) { return std::tanh(x); });
}
void compute(const Exp&, Inputs in, Outputs out, const KernelOptions&) {
  unary(in, out, [](float x) { return std::exp(x); });
}
void compute(const Sqrt&, Inputs in, Outputs out, const KernelOptions&) {
  unary(in, out, [](float x) { return std::sqrt(x); });
}
void compute(const Softcap& op, Inputs in, Outputs out, const KernelOptions&) {
  unary(in, out, [cap = static_cast<float>(op.cap)](float x) { return softcap(x, cap); });
}

void compute(const Gelu& op, Inputs in, Outputs out, const KernelOptions&) {
  switch (op.form) {
    case Gelu::Form::erf:
      return unary(in, out, gelu_erf);
    case Gelu::Form::tanh:
      return unary(in, out, gelu_tanh);
  }
}

void compute(const Cast&, Inputs in, Outputs out, const KernelOptions&) {
  const Tensor& x = *in[0];
  if (is_float(x.type.dtype)) return unary(in, out, [](float value) { return value; });
  // By way of f32, large integers would be rounded twice.
  for (int64_t i = 0; i < x.size(); ++i) out[0].set(i, x.value(i));
}

}  // namespace fusesmith::backends

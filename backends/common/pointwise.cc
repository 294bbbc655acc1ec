// Pointwise ops: each element in f32 by one expression (scalar_op.h), rounded once to the storage dtype.
#include "backends/common/pointwise.h"

#include "backends/common/floats.h"
#include "backends/common/kernels.h"
#include "backends/common/scalar_step.h"
#include "backends/common/shown_step.h"
#include "backends/common/strided.h"

namespace fusesmith::backends {
namespace {

template <class F>
void unary(const Op& op, Inputs in, Outputs out, const KernelOptions& options, F f) {
  if (show_elements<1>(op, in, out[0], options, f)) return;
  const Floats x(*in[0]);
  write_floats(out[0], [&](std::span<float> y) {
    for (size_t i = 0; i < y.size(); ++i) y[i] = f(x[i]);
  });
}

template <class F>
void binary(const Op& op, Inputs in, Outputs out, const KernelOptions& options, F f) {
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

void compute_pointwise(const Op& op, Inputs in, Outputs out, const KernelOptions& options) {
  with_function(scalar_step(op, out[0].type.dtype, in.size()), [&](auto arity, auto f) {
    if constexpr (arity == 1) unary(op, in, out, options, [f](float a) { return f(a, 0, 0); });
    if constexpr (arity == 2) binary(op, in, out, options, [f](float a, float b) { return f(a, b, 0); });
    check(arity == 1 || arity == 2, "compute_pointwise: an op with one or two operands");
  });
}

void compute(const Cast& op, Inputs in, Outputs out, const KernelOptions& options) {
  const Tensor& x = *in[0];
  const auto rounded = [to = op.rounds()](float value) { return static_cast<float>(to(value)); };
  if (is_float(x.type.dtype) && show_elements<1>(op, in, out[0], options, rounded)) return;
  if (is_rounded(x.type.dtype) && op.is_plain())
    return unary(op, in, out, {}, [](float value) { return value; });
  if (is_rounded(x.type.dtype)) return unary(op, in, out, {}, rounded);
  // By way of f32, large integers would be rounded twice.
  for (int64_t i = 0; i < x.size(); ++i) out[0].set(i, op.rounds()(x.value(i)));
}

void compute_formula(const PointwiseFormula& formula, Inputs in, Tensor& out) {
  std::vector<std::vector<float>> operands;
  for (const Tensor* x : in)
    operands.push_back(spread(*x, broadcast_strides(x->type.shape, out.type.shape), out.type.shape));
  write_floats(out, [&](std::span<float> y) { run_formula(formula, operands, y); });
}

}  // namespace fusesmith::backends

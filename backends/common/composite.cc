// Every op by the kernel of its class; composite ops run their expansion, node by node or in one loop.
#include <algorithm>

#include "backends/common/kernels.h"
#include "backends/common/pointwise.h"
#include "backends/common/run_node.h"
#include "backends/common/scalar_step.h"
#include "graph/expand.h"
#include "graph/formula.h"

namespace fusesmith::backends {

namespace {

// The last two axes at one place of the leading axes, which are those of `leading` or broadcast to them.
Tensor matrix_at(const Tensor& whole, const Shape& leading, int64_t place) {
  const Shape& shape = whole.type.shape;
  Tensor matrix(TensorType{whole.type.dtype, Shape(shape.end() - 2, shape.end())});
  const Shape own(shape.begin(), shape.end() - 2), steps = broadcast_strides(own, leading);
  int64_t at = 0;
  for (size_t axis = leading.size(); axis-- > 0; place /= leading[axis])
    at += place % leading[axis] * steps[axis];
  const auto size = static_cast<std::ptrdiff_t>(matrix.bytes.size());
  const auto from = whole.bytes.begin() + at * size;
  std::copy(from, from + size, matrix.bytes.begin());
  return matrix;
}

// A mask of rank below 2 as a matrix.
Tensor with_rank_2(Tensor mask) {
  while (mask.type.rank() < 2) mask.type.shape.insert(mask.type.shape.begin(), 1);
  return mask;
}

// Head by head, where the scores of all heads are too many to be held.
void compute_by_heads(Sdpa op, Inputs in, Tensor& out, const KernelOptions& options) {
  const Shape leading(out.type.shape.begin(), out.type.shape.end() - 2);
  const int64_t group = op.grouped_heads ? leading.back() / in[1]->type.shape.end()[-3] : 1;
  Shape fewer = leading;  // of k and v
  if (op.grouped_heads) fewer.back() /= group;
  op.grouped_heads = false;
  const KernelOptions without_probe{options.products, nullptr};
  auto to = out.bytes.begin();
  for (int64_t head = 0; head < element_count(leading); ++head) {
    std::vector<Tensor> parts = {matrix_at(*in[0], leading, head), matrix_at(*in[1], fewer, head / group),
                                 matrix_at(*in[2], fewer, head / group)};
    if (in.size() > 3) parts.push_back(matrix_at(with_rank_2(*in[3]), leading, head));
    std::vector<const Tensor*> inputs;
    for (const Tensor& part : parts) inputs.push_back(&part);
    Tensor result(TensorType{out.type.dtype, Shape(out.type.shape.end() - 2, out.type.shape.end())});
    compute(op, inputs, Outputs(&result, 1), without_probe);
    to = std::copy(result.bytes.begin(), result.bytes.end(), to);
  }
}

}  // namespace

void compute_parts(const Op& op, Inputs in, Outputs out, const KernelOptions& options) {
  Types types;
  for (const Tensor* tensor : in) types.push_back(tensor->type);
  const auto graph = expansion(op, types);
  check(graph != nullptr, "composite: no expansion");
  std::vector<TensorPtr> values(static_cast<size_t>(graph->value_count()));
  for (size_t i = 0; i < in.size(); ++i) values[i] = TensorPtr(TensorPtr(), in[i]);  // borrowed
  for (size_t n = 0; n < graph->nodes().size(); ++n) {
    const bool shown = detailed(options.probe) || std::holds_alternative<Softmax>(graph->nodes()[n].op);
    run_node(*graph, static_cast<int>(n), values, options.products, shown ? options.probe : nullptr);
  }
  for (size_t i = 0; i < out.size(); ++i) out[i] = *values[static_cast<size_t>(graph->outputs()[i])];
}

namespace {

// In one loop where the formula has pointwise ops alone and no probe asks for the values of its parts.
void compute_defined(const Op& op, Inputs in, Outputs out, const KernelOptions& options) {
  Types types;
  for (const Tensor* tensor : in) types.push_back(tensor->type);
  const auto formula = detailed(options.probe) ? std::nullopt : pointwise_formula(op, types);
  if (formula) return compute_formula(*formula, in, out[0]);
  compute_parts(op, in, out, options);
}

}  // namespace

void compute(const Op& op, Inputs in, Outputs out, const KernelOptions& options) {
  std::visit(
      [&]<class T>(const T& x) {
        if constexpr (DefinedOp<T>)
          compute_defined(op, in, out, options);
        else if constexpr (kComputesElements<T> && !std::same_as<T, Cast>)
          compute_pointwise(op, in, out, options);
        else
          compute(x, in, out, options);
      },
      op);
}

void compute(const Sdpa& op, Inputs in, Outputs out, const KernelOptions& options) {
  Types types;
  for (const Tensor* tensor : in) types.push_back(tensor->type);
  if (types[0].rank() > 2 && score_count(types) > kMaxElements)
    return compute_by_heads(op, in, out[0], options);
  compute_parts(op, in, out, options);
}

}  // namespace fusesmith::backends

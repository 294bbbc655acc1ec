#include "backends/rewrite/matching/product.h"

#include <algorithm>
#include <array>

namespace fusesmith::backends {
namespace {

using Axes = std::vector<ProductAxis>;

bool continues(int64_t outer, int64_t inner, int64_t size) { return outer == inner * size; }

// Leaves out axes of size 1 and merges each axis into the next where one stride serves both.
Axes merged(const Axes& axes) {
  Axes result;
  for (const ProductAxis& axis : axes) {
    if (axis.size == 1) continue;
    if (!result.empty()) {
      ProductAxis& last = result.back();
      if (continues(last.a, axis.a, axis.size) && continues(last.b, axis.b, axis.size) &&
          continues(last.out, axis.out, axis.size) && continues(last.addend, axis.addend, axis.size)) {
        const int64_t size = last.size * axis.size;
        last = axis;
        last.size = size;
        continue;
      }
    }
    result.push_back(axis);
  }
  return result;
}

// Batch axes along which b does not move are rows of one larger matrix.
void tidy(BatchedProduct& product) {
  Axes batch, m;
  for (const ProductAxis& axis : product.batch) (axis.b == 0 ? m : batch).push_back(axis);
  m.insert(m.end(), product.m.begin(), product.m.end());
  product.batch = merged(batch);
  product.m = merged(m);
  product.n = merged(product.n);
  product.k = merged(product.k);
}

BatchedProduct matmul_product(const Matmul& op, const Shape& a, const Shape& b, const Shape& out,
                              const Shape& addend) {
  const size_t rank = out.size();
  const Shape lead(out.begin(), out.end() - 2);
  const auto batch_strides = [&](const Shape& shape) {
    Shape strides = broadcast_strides(Shape(shape.begin(), shape.end() - 2), lead);
    for (int64_t& stride : strides) stride *= shape[shape.size() - 1] * shape[shape.size() - 2];
    return strides;
  };
  const Shape a_batch = batch_strides(a), b_batch = batch_strides(b), out_strides = strides_of(out);
  const Shape addend_strides = broadcast_strides(addend, out);
  BatchedProduct product;
  for (size_t i = 0; i + 2 < rank; ++i) {
    product.batch.push_back({out[i], a_batch[i], b_batch[i], out_strides[i], addend_strides[i]});
  }
  const int64_t a_columns = a.back(), b_columns = b.back();
  const int64_t k = a[a.size() - (op.transpose_a ? 2 : 1)];
  product.m = {
      {out[rank - 2], op.transpose_a ? 1 : a_columns, 0, out_strides[rank - 2], addend_strides[rank - 2]}};
  product.n = {{out[rank - 1], 0, op.transpose_b ? b_columns : 1, 1, addend_strides[rank - 1]}};
  product.k = {{k, op.transpose_a ? a_columns : 1, op.transpose_b ? 1 : b_columns, 0, 0}};
  return product;
}

BatchedProduct linear_product(const Shape& x, const Shape& out, const Shape& addend) {
  const size_t last = out.size() - 1;
  const Shape a = strides_of(x), out_strides = strides_of(out),
              addend_strides = broadcast_strides(addend, out);
  BatchedProduct product;
  for (size_t i = 0; i < last; ++i) product.m.push_back({out[i], a[i], 0, out_strides[i], addend_strides[i]});
  product.n = {{out[last], 0, x[last], 1, addend_strides[last]}};
  product.k = {{x[last], 1, 1, 0, 0}};
  return product;
}

bool has(const std::string& letters, char c) { return letters.find(c) != std::string::npos; }

// Axes of an einsum by letter, `kept` letters first.
struct LetterAxes {
  EinsumLabels labels;
  std::string letters;
  Axes axes;
};

LetterAxes letter_axes(const Graph& graph, const Node& node, const Shape& addend) {
  LetterAxes result;
  result.labels = *parse_equation(std::get<Einsum>(node.op).equation);
  const EinsumLabels& labels = result.labels;
  result.letters = labels.out + labels.summed;
  const Shape &a = graph.type(node.inputs[0]).shape, &b = graph.type(node.inputs[1]).shape;
  const Shape& out = graph.type(node.first_output).shape;
  const Shape sizes = *label_sizes(labels, a, b, result.letters);
  const Shape a_strides = label_strides(labels.a, a, result.letters);
  const Shape b_strides = label_strides(labels.b, b, result.letters);
  const Shape out_strides = strides_of(out), addend_strides = broadcast_strides(addend, out);
  for (size_t i = 0; i < result.letters.size(); ++i) {
    const bool kept = i < labels.out.size();
    result.axes.push_back(
        {sizes[i], a_strides[i], b_strides[i], kept ? out_strides[i] : 0, kept ? addend_strides[i] : 0});
  }
  return result;
}

// Whether m, n and k each have a letter.
bool is_proper(const EinsumLabels& labels) {
  bool m = false, n = false, k = false;
  for (char c : labels.out) {
    m = m || !has(labels.b, c);
    n = n || !has(labels.a, c);
  }
  for (char c : labels.summed) k = k || (has(labels.a, c) && has(labels.b, c));
  return m && n && k;
}

std::optional<BatchedProduct> einsum_product(const Graph& graph, const Node& node, const Shape& addend) {
  const LetterAxes all = letter_axes(graph, node, addend);
  if (!is_proper(all.labels)) return std::nullopt;
  BatchedProduct product;
  for (size_t i = 0; i < all.letters.size(); ++i) {
    const char c = all.letters[i];
    const bool in_a = has(all.labels.a, c), in_b = has(all.labels.b, c);
    const bool kept = i < all.labels.out.size();
    if (!kept && !(in_a && in_b)) return std::nullopt;
    Axes& group = !kept ? product.k : in_a && in_b ? product.batch : in_a ? product.m : product.n;
    group.push_back(all.axes[i]);
  }
  return product;
}

std::optional<Axes> axes_through(const Axes& axes, const StridedView& a, const StridedView& b,
                                 const StridedView& out) {
  Axes result;
  for (const ProductAxis& axis : axes) {
    const auto in_a = a.walk(axis.size, axis.a), in_b = b.walk(axis.size, axis.b),
               in_out = out.walk(axis.size, axis.out);
    if (!in_a || !in_b || !in_out) return std::nullopt;
    std::array<StridedAxes, 3> cut = {*in_a, *in_b, *in_out};
    if (!cut_alike(cut)) return std::nullopt;
    for (size_t i = 0; i < cut[0].size(); ++i) {
      result.push_back({cut[0][i].size, cut[0][i].stride, cut[1][i].stride, cut[2][i].stride, 0});
    }
  }
  return result;
}

}  // namespace

std::optional<BatchedProduct> through_views(const BatchedProduct& product, const StridedView& a,
                                            const StridedView& b, const StridedView& out) {
  BatchedProduct result = product;
  for (Axes BatchedProduct::*group :
       {&BatchedProduct::batch, &BatchedProduct::m, &BatchedProduct::n, &BatchedProduct::k}) {
    auto axes = axes_through(product.*group, a, b, out);
    if (!axes) return std::nullopt;
    result.*group = std::move(*axes);
  }
  tidy(result);
  return result;
}

std::optional<BatchedProduct> gemm_product(const Graph& graph, const Node& node, const Shape& addend) {
  std::optional<BatchedProduct> product;
  if (std::ranges::any_of(node.inputs, [&](ValueId v) { return is_quantized(graph.type(v).dtype); }))
    return std::nullopt;
  const auto shape = [&](size_t i) -> const Shape& { return graph.type(node.inputs[i]).shape; };
  const Shape& out = graph.type(node.first_output).shape;
  if (const auto* matmul = std::get_if<Matmul>(&node.op)) {
    product = matmul_product(*matmul, shape(0), shape(1), out, addend);
  } else if (std::holds_alternative<Linear>(node.op)) {
    product = linear_product(shape(0), out, addend);
  } else if (std::holds_alternative<Einsum>(node.op)) {
    product = einsum_product(graph, node, addend);
  }
  if (!product) return std::nullopt;
  product->a = node.inputs[0];
  product->b = node.inputs[1];
  tidy(*product);
  return product;
}

std::optional<MultiplyReduce> multiply_reduce(const Graph& graph, const Node& node) {
  if (!std::holds_alternative<Einsum>(node.op)) return std::nullopt;
  const LetterAxes all = letter_axes(graph, node, {});
  if (is_proper(all.labels)) return std::nullopt;
  const auto split = all.axes.begin() + static_cast<std::ptrdiff_t>(all.labels.out.size());
  return MultiplyReduce{node.inputs[0], node.inputs[1], merged(Axes(all.axes.begin(), split)),
                        merged(Axes(split, all.axes.end()))};
}

}  // namespace fusesmith::backends

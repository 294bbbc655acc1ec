// Products: matmul, linear and einsum, each as one strided product with an f32 accumulator.
#include "backends/common/floats.h"
#include "backends/common/kernels.h"
#include "backends/common/multiply.h"

namespace fusesmith {
namespace {

void write_product(const Product& product, Inputs in, Tensor& out) {
  const Floats a(*in[0]), b(*in[1]);
  write_floats(out, [&](std::span<float> y) { multiply(product, a.data(), b.data(), y.data()); });
}

// The strides of an operand's leading axes, along those of the result.
Shape batch_strides(const Shape& operand, const Shape& result) {
  const Shape from(operand.begin(), operand.end() - 2), to(result.begin(), result.end() - 2);
  Shape strides = broadcast_strides(from, to);
  for (int64_t& stride : strides) stride *= operand[operand.size() - 2] * operand[operand.size() - 1];
  return strides;
}

}  // namespace

void compute(const Einsum& op, Inputs in, Outputs out) {
  const auto labels = parse_equation(op.equation);
  check(labels.ok(), "einsum: bad equation");
  const Shape &a = in[0]->type.shape, &b = in[1]->type.shape;
  const std::string letters = labels->out + labels->summed;
  const Shape sizes = *label_sizes(*labels, a, b, letters);
  const Shape a_strides = label_strides(labels->a, a, letters),
              b_strides = label_strides(labels->b, b, letters);
  const Shape out_strides = label_strides(labels->out, out[0].type.shape, letters);
  Product product;
  for (size_t i = 0; i < letters.size(); ++i) {
    const auto stands_in = [&](const std::string& operand) {
      return operand.find(letters[i]) != std::string::npos;
    };
    ProductAxes& axes = !stands_in(labels->out) ? product.k
                        : !stands_in(labels->b) ? product.m
                        : !stands_in(labels->a) ? product.n
                                                : product.batch;
    axes.add(sizes[i], a_strides[i], b_strides[i], out_strides[i]);
  }
  write_product(product, in, out[0]);
}

void compute(const Matmul& op, Inputs in, Outputs out) {
  const Shape &a = in[0]->type.shape, &b = in[1]->type.shape, &y = out[0].type.shape;
  const size_t rank = y.size();
  const int64_t m = y[rank - 2], n = y[rank - 1], k = a[a.size() - (op.transpose_a ? 2 : 1)];
  Product product;
  product.batch = {Shape(y.begin(), y.end() - 2), batch_strides(a, y), batch_strides(b, y),
                   batch_strides(y, y)};
  product.m.add(m, op.transpose_a ? 1 : k, 0, n);
  product.n.add(n, 0, op.transpose_b ? k : 1, 1);
  product.k.add(k, op.transpose_a ? m : 1, op.transpose_b ? 1 : n, 0);
  write_product(product, in, out[0]);
}

// Product and bias are one op: the bias is added to the f32 sum before the one rounding.
void compute(const Linear&, Inputs in, Outputs out) {
  const Floats x(*in[0]), w(*in[1]);
  const int64_t n = in[1]->type.shape[0], k = in[1]->type.shape[1];
  Product product;
  product.m.add(in[0]->size() / k, k, 0, n);
  product.n.add(n, 0, k, 1);
  product.k.add(k, 1, 1, 0);
  write_floats(out[0], [&](std::span<float> y) {
    multiply(product, x.data(), w.data(), y.data());
    if (in.size() < 3) return;
    const Floats bias(*in[2]);
    for (size_t row = 0; row < y.size(); row += bias.size()) {
      for (size_t i = 0; i < bias.size(); ++i) y[row + i] += bias[i];
    }
  });
}

}  // namespace fusesmith

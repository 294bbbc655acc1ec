// Products: matmul, linear and einsum, each as one strided product with an f32 accumulator.
#include "backends/common/product.h"

#include "backends/common/floats.h"
#include "backends/common/kernels.h"

namespace fusesmith::backends {
namespace {

// An operand as the product reads it.
class Operand {
 public:
  Operand(const Tensor& tensor, F32Products products) : stored_(tensor) {
    if (!reads_tf32(products, tensor.type.dtype)) return;
    rounded_.assign(stored_.span().begin(), stored_.span().end());
    to_tf32(rounded_);
  }
  const float* data() const { return rounded_.empty() ? stored_.data() : rounded_.data(); }

 private:
  Floats stored_;
  std::vector<float> rounded_;
};

template <class T>
void compute_product(const T& op, Inputs in, Tensor& out, F32Products products) {
  const Types types = {in[0]->type, in[1]->type};
  const Product product = product_of(op, types, out.type);
  const Operand a(*in[0], products), b(*in[1], products);
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

Product product_of(const Einsum& op, TypeSpan in, const TensorType& out) {
  const auto labels = parse_equation(op.equation);
  check(labels.ok(), "einsum: bad equation");
  const Shape &a = in[0].shape, &b = in[1].shape;
  const std::string letters = labels->out + labels->summed;
  const Shape sizes = *label_sizes(*labels, a, b, letters);
  const Shape a_strides = label_strides(labels->a, a, letters),
              b_strides = label_strides(labels->b, b, letters);
  const Shape out_strides = label_strides(labels->out, out.shape, letters);
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
  return product;
}

Product product_of(const Matmul& op, TypeSpan in, const TensorType& out) {
  const Shape &a = in[0].shape, &b = in[1].shape, &y = out.shape;
  const size_t rank = y.size();
  const int64_t m = y[rank - 2], n = y[rank - 1], k = a[a.size() - (op.transpose_a ? 2 : 1)];
  Product product;
  product.batch = {Shape(y.begin(), y.end() - 2), batch_strides(a, y), batch_strides(b, y),
                   batch_strides(y, y)};
  product.m.add(m, op.transpose_a ? 1 : k, 0, n);
  product.n.add(n, 0, op.transpose_b ? k : 1, 1);
  product.k.add(k, op.transpose_a ? m : 1, op.transpose_b ? 1 : n, 0);
  return product;
}

Product product_of(const Linear&, TypeSpan in, const TensorType&) {
  const int64_t n = in[1].shape[0], k = in[1].shape[1];
  Product product;
  product.m.add(element_count(in[0]) / k, k, 0, n);
  product.n.add(n, 0, k, 1);
  product.k.add(k, 1, 1, 0);
  return product;
}

void compute(const Einsum& op, Inputs in, Outputs out, const KernelOptions& options) {
  compute_product(op, in, out[0], options.products);
}
void compute(const Matmul& op, Inputs in, Outputs out, const KernelOptions& options) {
  compute_product(op, in, out[0], options.products);
}

// Product and bias are one op: the bias is added to the f32 sum before the one rounding.
void compute(const Linear& op, Inputs in, Outputs out, const KernelOptions& options) {
  if (in.size() < 3) return compute_product(op, in, out[0], options.products);
  const Types types = {in[0]->type, in[1]->type};
  const Product product = product_of(op, types, out[0].type);
  const Operand x(*in[0], options.products), w(*in[1], options.products);
  const Floats bias(*in[2]);
  write_floats(out[0], [&](std::span<float> y) {
    multiply(product, x.data(), w.data(), y.data());
    for (size_t row = 0; row < y.size(); row += bias.size()) {
      for (size_t i = 0; i < bias.size(); ++i) y[row + i] += bias[i];
    }
  });
}

}  // namespace fusesmith::backends

// Products: matmul, linear and einsum, each as one strided product with an f32 accumulator.
#include "backends/common/product.h"

#include <algorithm>

#include "backends/common/floats.h"
#include "backends/common/kernels.h"
#include "backends/common/strided.h"

namespace fusesmith::backends {
namespace {

// An operand as the product reads it: its elements in f32, rounded to tf32 where asked.
class F32Operand {
 public:
  F32Operand(const Tensor& tensor, F32Products products) : stored_(tensor) {
    if (!reads_tf32(products, tensor.type.dtype)) return;
    rounded_.assign(stored_.span().begin(), stored_.span().end());
    to_tf32(rounded_);
  }
  const float* data() const { return rounded_.empty() ? stored_.data() : rounded_.data(); }

 private:
  Floats stored_;
  std::vector<float> rounded_;
};

// Axes of one operand in the order in which its elements are shown: [batch, m, k] of a, [batch, k, n] of b;
// without the batch if the operand is the same for all of it.
struct ShownAxes {
  ProductAxes Product::*groups[3];
  Shape ProductAxes::*strides;
};
constexpr ShownAxes kLeft{{&Product::batch, &Product::m, &Product::k}, &ProductAxes::a},
    kRight{{&Product::batch, &Product::k, &Product::n}, &ProductAxes::b};

// What the product reads of one operand, shown to the probe; `product` then reads the returned elements.
std::vector<float> shown_operand(Probe& probe, std::string_view name, const ShownAxes& axes,
                                 const float* data, Product& product) {
  Shape sizes, strides;
  const Shape& of_batch = product.batch.*axes.strides;
  const bool shared =
      std::all_of(of_batch.begin(), of_batch.end(), [](int64_t stride) { return stride == 0; });
  const std::span<ProductAxes Product::*const> groups = std::span(axes.groups).subspan(shared ? 1 : 0);
  for (const auto group : groups) {
    sizes = join(std::move(sizes), (product.*group).sizes);
    strides = join(std::move(strides), (product.*group).*axes.strides);
  }
  std::vector<float> read(static_cast<size_t>(element_count(sizes)));
  copy_strided(data, sizes, strides, read.data());
  InnerValue(&probe, name, read.size())(0, read);
  const Shape dense = strides_of(sizes);
  auto at = dense.begin();
  for (const auto group : groups) {
    for (int64_t& stride : (product.*group).*axes.strides) stride = *at++;
  }
  return read;
}

// The operands of a product, replaced by those that a probe gives.
struct ShownOperands {
  std::vector<float> left, right;

  ShownOperands(Probe& probe, const float*& a, const float*& b, Product& product) {
    const int64_t batch = product.batch.volume(), k = product.k.volume();
    const int64_t largest = batch * k * std::max(product.m.volume(), product.n.volume());
    if (largest > static_cast<int64_t>(kMaxDetailElements)) return;
    left = shown_operand(probe, "left of product", kLeft, a, product);
    right = shown_operand(probe, "right of product", kRight, b, product);
    a = left.data();
    b = right.data();
  }
};

// The bias is added to the f32 sum before the one rounding.
template <class T>
void compute_product(const T& op, Inputs in, Tensor& out, F32Products products, Probe* probe) {
  const Types types = {in[0]->type, in[1]->type};
  Product product = product_of(op, types, out.type);
  const F32Operand a(*in[0], products), b(*in[1], products);
  const float *left = a.data(), *right = b.data();
  std::optional<ShownOperands> shown;
  if (detailed(probe)) shown.emplace(*probe, left, right, product);
  const auto size = static_cast<size_t>(out.size());
  std::optional<Floats> bias;
  if (in.size() > 2) bias.emplace(*in[2]);
  const InnerValue inner(probe, "product", size, !bias);
  Probe* const with_bias = bias ? detailed(probe) : nullptr;
  const InnerValue bias_read(with_bias, "bias of product", size), biased(with_bias, "linear", size, true);
  write_floats(out, [&](std::span<float> y) {
    multiply(product, left, right, y.data());
    if (probe) inner(0, y);
    for (size_t row = 0; bias && row < y.size(); row += bias->size()) {
      for (size_t i = 0; i < bias->size(); ++i) y[row + i] += bias_read(row + i, (*bias)[i]);
    }
    biased(0, y);
  });
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
  compute_product(op, in, out[0], options.products, options.probe);
}
void compute(const Matmul& op, Inputs in, Outputs out, const KernelOptions& options) {
  compute_product(op, in, out[0], options.products, options.probe);
}
void compute(const Linear& op, Inputs in, Outputs out, const KernelOptions& options) {
  compute_product(op, in, out[0], options.products, options.probe);
}

}  // namespace fusesmith::backends

// The product of a region, taken apart: its operands as matrices, and what follows it before the store.
#pragma once

#include <optional>
#include <vector>

#include "backends/backend.h"
#include "fuzz/order/emulate.h"
#include "fuzz/order/sum_spec.h"

namespace fusesmith::fuzz {

// One axis of a product: how many elements it has, and the strides, in elements, by which the operands and
// the result are read along it; 0 where they lack it.
struct ProductAxis {
  int64_t size = 1, a = 0, b = 0, y = 0;
};

// A region of one matmul, linear or einsum, which may be followed by additions of stored values and by relus,
// all of one float dtype. Refers to the graph.
class ProductRegion {
 public:
  // Nothing for other regions, and for einsums that sum an axis of one operand alone.
  static std::optional<ProductRegion> of(const Graph& graph, const Region& region);

  // A product of one node (and a relu where something follows the product), with these sizes.
  const SumSpec& spec() const { return spec_; }
  int product() const { return product_; }  // the node
  ValueId result() const;                   // what the region stores
  // Of one batch element. `values`: by ValueId, as a trace has them.
  Operands operands(std::span<const TensorPtr> values, int64_t batch) const;
  // The place of a sum in the tensor of the product.
  size_t place(int64_t batch, int64_t row, int64_t column) const;
  // What the region stores if these are its sums, by place: f32 operations up to the store.
  std::vector<double> stored(std::span<const TensorPtr> values, std::vector<float> sums) const;

 private:
  bool has_probe_dtype() const;
  bool add_axes();
  void add_matmul_axes(const Matmul& op);
  void add_linear_axes();
  bool add_einsum_axes(const Einsum& op);
  void make_spec();
  const Node& node(int id) const { return graph_->nodes()[static_cast<size_t>(id)]; }
  const Shape& shape_of(ValueId value) const { return graph_->type(value).shape; }
  // The stored value that an addition adds to the sums.
  ValueId addend(const Node& addition, ValueId sums) const;

  const Graph* graph_ = nullptr;
  int product_ = 0;
  std::vector<int> after_;  // nodes, in order
  std::vector<ProductAxis> batch_, rows_, columns_, terms_;
  SumSpec spec_;
};

}  // namespace fusesmith::fuzz

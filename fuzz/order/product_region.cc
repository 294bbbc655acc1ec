#include "fuzz/order/product_region.h"

#include <algorithm>

#include "fuzz/order/sum_kernel.h"

namespace fusesmith::fuzz {
namespace {

int64_t size_of_axes(const std::vector<ProductAxis>& axes) {
  int64_t size = 1;
  for (const ProductAxis& axis : axes) size *= axis.size;
  return size;
}

// Where each combination of indices along the axes lies, the last axis fastest.
std::vector<int64_t> places_of(const std::vector<ProductAxis>& axes, int64_t ProductAxis::*stride) {
  std::vector<int64_t> places = {0};
  for (const ProductAxis& axis : axes) {
    std::vector<int64_t> next;
    next.reserve(places.size() * static_cast<size_t>(axis.size));
    for (const int64_t place : places) {
      for (int64_t i = 0; i < axis.size; ++i) next.push_back(place + i * axis.*stride);
    }
    places = std::move(next);
  }
  return places;
}

int64_t place_at(const std::vector<ProductAxis>& axes, int64_t index) {
  int64_t place = 0;
  for (size_t i = axes.size(); i-- > 0; index /= axes[i].size) place += index % axes[i].size * axes[i].y;
  return place;
}

// Whether the last of these axes lies closer together than the last term.
bool is_inside(const std::vector<ProductAxis>& axes, const std::vector<ProductAxis>& terms,
               int64_t ProductAxis::*stride) {
  return !axes.empty() && !terms.empty() && axes.back().*stride < terms.back().*stride;
}

}  // namespace

std::optional<ProductRegion> ProductRegion::of(const Graph& graph, const Region& region) {
  ProductRegion product;
  product.graph_ = &graph;
  if (region.nodes.empty() || region.outputs.size() != 1) return {};
  product.product_ = region.nodes.front();
  product.after_.assign(region.nodes.begin() + 1, region.nodes.end());
  ValueId sums = product.node(product.product_).first_output;
  const TensorType type = graph.type(sums);
  if (!is_float(type.dtype) || !product.has_probe_dtype() || !product.add_axes()) return {};
  for (const int id : product.after_) {
    const Node& node = product.node(id);
    const bool known = std::holds_alternative<Relu>(node.op) || std::holds_alternative<Add>(node.op);
    const auto uses = std::count(node.inputs.begin(), node.inputs.end(), sums);
    if (!known || uses != 1 || graph.type(node.first_output) != type) return {};
    sums = node.first_output;
  }
  if (region.outputs[0] != sums) return {};
  product.make_spec();
  return product;
}

// Both operands.
bool ProductRegion::has_probe_dtype() const {
  const Node& node = this->node(product_);
  if (node.inputs.size() < 2) return false;
  const Dtype dtype = graph_->type(node.inputs[0]).dtype;
  const bool is_known =
      std::find(std::begin(kProbeDtypes), std::end(kProbeDtypes), dtype) != std::end(kProbeDtypes);
  return is_known && graph_->type(node.inputs[1]).dtype == dtype;
}

bool ProductRegion::add_axes() {
  const Op& op = node(product_).op;
  if (const auto* matmul = std::get_if<Matmul>(&op)) return add_matmul_axes(*matmul), true;
  if (std::holds_alternative<Linear>(op)) return add_linear_axes(), true;
  const auto* einsum = std::get_if<Einsum>(&op);
  return einsum && add_einsum_axes(*einsum);
}

void ProductRegion::add_matmul_axes(const Matmul& op) {
  const Node& node = this->node(product_);
  const Shape &a = shape_of(node.inputs[0]), &b = shape_of(node.inputs[1]), &y = shape_of(node.first_output);
  const Shape steps_a = strides_of(a), steps_b = strides_of(b), steps_y = strides_of(y);
  for (size_t axis = 0; axis + 2 < y.size(); ++axis) {
    const auto step = [&](const Shape& shape, const Shape& steps) {
      const size_t missing = y.size() - shape.size();
      return axis < missing || shape[axis - missing] == 1 ? 0 : steps[axis - missing];
    };
    batch_.push_back({y[axis], step(a, steps_a), step(b, steps_b), steps_y[axis]});
  }
  const size_t row_a = a.size() - (op.transpose_a ? 1 : 2), term_a = a.size() - (op.transpose_a ? 2 : 1);
  const size_t column_b = b.size() - (op.transpose_b ? 2 : 1), term_b = b.size() - (op.transpose_b ? 1 : 2);
  rows_ = {{a[row_a], steps_a[row_a], 0, steps_y[y.size() - 2]}};
  columns_ = {{b[column_b], 0, steps_b[column_b], steps_y[y.size() - 1]}};
  terms_ = {{a[term_a], steps_a[term_a], steps_b[term_b], 0}};
}

void ProductRegion::add_linear_axes() {
  const Node& node = this->node(product_);
  const Shape &x = shape_of(node.inputs[0]), &weight = shape_of(node.inputs[1]);
  const int64_t in = weight[1], out = weight[0];
  rows_ = {{element_count(x) / in, in, 0, out}};
  columns_ = {{out, 0, in, 1}};
  terms_ = {{in, 1, 1, 0}};
}

bool ProductRegion::add_einsum_axes(const Einsum& op) {
  const Node& node = this->node(product_);
  const auto labels = parse_equation(op.equation);
  if (!labels) return false;
  const std::string letters = labels->out + labels->summed;
  const Shape &a = shape_of(node.inputs[0]), &b = shape_of(node.inputs[1]);
  const auto sizes = label_sizes(*labels, a, b, letters);
  if (!sizes) return false;
  const Shape in_a = label_strides(labels->a, a, letters), in_b = label_strides(labels->b, b, letters);
  const Shape in_y = label_strides(labels->out, shape_of(node.first_output), letters);
  const auto has = [](const std::string& word, char letter) {
    return word.find(letter) != std::string::npos;
  };
  for (size_t i = 0; i < letters.size(); ++i) {
    const bool of_a = has(labels->a, letters[i]), of_b = has(labels->b, letters[i]);
    const ProductAxis axis{(*sizes)[i], in_a[i], in_b[i], in_y[i]};
    if (!has(labels->out, letters[i])) {
      if (!of_a || !of_b) return false;
      terms_.push_back(axis);
    } else {
      (of_a && of_b ? batch_ : of_a ? rows_ : columns_).push_back(axis);
    }
  }
  return true;
}

void ProductRegion::make_spec() {
  const Node& node = this->node(product_);
  spec_.dtype = graph_->type(node.inputs[0]).dtype;
  spec_.batch = size_of_axes(batch_);
  spec_.m = size_of_axes(rows_);
  spec_.n = size_of_axes(columns_);
  spec_.k = size_of_axes(terms_);
  spec_.relu = !after_.empty();
  if (std::holds_alternative<Linear>(node.op)) {
    spec_.op = "linear";
    spec_.bias = node.inputs.size() > 2;
  } else {
    if (std::holds_alternative<Einsum>(node.op)) spec_.op = "einsum";
    spec_.transpose_a = is_inside(rows_, terms_, &ProductAxis::a);
    spec_.transpose_b = !is_inside(columns_, terms_, &ProductAxis::b);
  }
}

ValueId ProductRegion::result() const { return node(after_.empty() ? product_ : after_.back()).first_output; }

Operands ProductRegion::operands(std::span<const TensorPtr> values, int64_t batch) const {
  const Node& node = this->node(product_);
  const auto gather = [&](ValueId value, int64_t ProductAxis::*stride, const std::vector<ProductAxis>& outer,
                          const std::vector<ProductAxis>& inner) {
    const Tensor& tensor = *values[static_cast<size_t>(value)];
    const int64_t first = places_of(batch_, stride)[static_cast<size_t>(batch)];
    const std::vector<int64_t> within = places_of(inner, stride);
    std::vector<float> all;
    for (const int64_t place : places_of(outer, stride)) {
      for (const int64_t further : within)
        all.push_back(static_cast<float>(tensor.value(first + place + further)));
    }
    return all;
  };
  Operands operands{spec_.m, spec_.k, spec_.n, spec_.dtype, {}, {}};
  operands.a = gather(node.inputs[0], &ProductAxis::a, rows_, terms_);
  operands.b = gather(node.inputs[1], &ProductAxis::b, terms_, columns_);
  return operands;
}

size_t ProductRegion::place(int64_t batch, int64_t row, int64_t column) const {
  return static_cast<size_t>(place_at(batch_, batch) + place_at(rows_, row) + place_at(columns_, column));
}

ValueId ProductRegion::addend(const Node& addition, ValueId sums) const {
  return addition.inputs[addition.inputs[0] == sums ? 1 : 0];
}

std::vector<double> ProductRegion::stored(std::span<const TensorPtr> values, std::vector<float> sums) const {
  const Node& product = node(product_);
  ValueId current = product.first_output;
  const Shape& shape = shape_of(current);
  const auto add = [&](ValueId value) {
    const Tensor& tensor = *values[static_cast<size_t>(value)];
    const Shape strides = broadcast_strides(tensor.type.shape, shape), own = strides_of(shape);
    for (size_t i = 0; i < sums.size(); ++i) {
      int64_t place = 0;
      for (size_t axis = 0; axis < shape.size(); ++axis)
        place += static_cast<int64_t>(i) / own[axis] % shape[axis] * strides[axis];
      sums[i] += static_cast<float>(tensor.value(place));
    }
  };
  if (product.inputs.size() > 2) add(product.inputs[2]);
  for (const int id : after_) {
    const Node& next = node(id);
    if (std::holds_alternative<Add>(next.op)) {
      add(addend(next, current));
    } else {
      for (float& sum : sums) sum = sum < 0 ? 0 : sum;
    }
    current = next.first_output;
  }
  std::vector<double> results;
  results.reserve(sums.size());
  const Dtype dtype = graph_->type(product.first_output).dtype;
  for (const float sum : sums) results.push_back(round_to(dtype, static_cast<double>(sum)));
  return results;
}

}  // namespace fusesmith::fuzz

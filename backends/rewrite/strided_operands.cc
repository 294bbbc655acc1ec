#include "backends/rewrite/strided_operands.h"

#include <algorithm>

#include "backends/region_faults.h"
#include "backends/rewrite/matching/strided_view.h"

namespace fusesmith::backends {
namespace {

// Translates walks over the dense elements of one value into walks over its memory.
class Reader {
 public:
  Reader(ValueId value, const MemoryLayout& layout, const TensorType& type, const RegionFaults& faults)
      : value_(value), faults_(faults) {
    const Shape strides = strides_of(layout, type.shape).of_axes;
    for (size_t axis = 0; axis < strides.size(); ++axis) {
      const int64_t size = type.shape[axis], stride = strides[axis];
      if (size == 1) continue;
      StridedAxes& axes = view_.axes;
      if (!axes.empty() && axes.back().stride == stride * size)
        axes.back() = {axes.back().size * size, stride};
      else
        axes.push_back({size, stride});
    }
  }

  bool reads(ValueId value) const { return value == value_; }
  bool planted(std::string_view fault) const { return faults_.planted(fault); }
  int found() const { return found_; }
  void find() { ++found_; }

  // As one axis with another stride, or as several; false if that is not possible.
  bool restride(int64_t size, int64_t& stride) const {
    const auto axes = walk(size, stride);
    if (!axes || axes->size() > 1) return false;
    stride = axes->empty() ? 0 : axes->front().stride;
    return true;
  }
  std::optional<StridedAxes> walk(int64_t size, int64_t stride) const {
    if (size == 1) return StridedAxes{{1, 0}};
    if (stride < 0) return std::nullopt;
    return view_.walk(size, stride);
  }
  // The offset of a dense element.
  int64_t offset(int64_t dense) const {
    int64_t at = 0;
    for (size_t axis = view_.axes.size(); axis-- > 0; dense /= view_.axes[axis].size)
      at += dense % view_.axes[axis].size * view_.axes[axis].stride;
    return at;
  }

 private:
  ValueId value_;
  const RegionFaults& faults_;
  StridedView view_;
  int found_ = 0;  // operands with strides that read the value
};

// Each of the functions below: false if the op cannot express how it reads the value. It may have changed the
// op then.

using Axes = std::vector<ProductAxis>;

// Splits axes where the operand's strides change within them. The other operands are split alike.
bool restride(Axes& axes, int64_t ProductAxis::*operand, const Reader& reader) {
  Axes split;
  for (const ProductAxis& axis : axes) {
    const auto walked = reader.walk(axis.size, axis.*operand);
    if (!walked) return false;
    int64_t inside = axis.size;  // elements of the axis inside of the part
    for (const StridedAxis& part : *walked) {
      inside /= part.size;
      ProductAxis& made = split.emplace_back(
          ProductAxis{part.size, axis.a * inside, axis.b * inside, axis.out * inside, axis.addend * inside});
      made.*operand = part.stride;
    }
  }
  axes = std::move(split);
  return true;
}

bool restride(std::initializer_list<Axes*> groups, int64_t ProductAxis::*operand, Reader& reader) {
  reader.find();
  return std::all_of(groups.begin(), groups.end(),
                     [&](Axes* axes) { return restride(*axes, operand, reader); });
}

// Injected fault: the innermost axis that is left of the others keeps its dense stride.
void keep_leading_dimension(const Axes& dense, Axes& axes, int64_t ProductAxis::*operand) {
  if (axes.size() == 1 && dense.size() == 1) axes[0].*operand = dense[0].*operand;
}

bool restride(FusedGemm& gemm, Reader& reader) {
  BatchedProduct& p = gemm.product;
  const BatchedProduct dense = p;
  if (reader.reads(p.a) && !restride({&p.batch, &p.m, &p.k}, &ProductAxis::a, reader)) return false;
  if (reader.reads(p.b) && !restride({&p.batch, &p.n, &p.k}, &ProductAxis::b, reader)) return false;
  if (gemm.addend && reader.reads(*gemm.addend) &&
      !restride({&p.batch, &p.m, &p.n}, &ProductAxis::addend, reader))
    return false;
  if (reader.reads(p.a) && reader.planted("gemm_leading_dimension_is_depth"))
    keep_leading_dimension(dense.m, p.m, &ProductAxis::a);
  if (gemm.addend && reader.reads(*gemm.addend) && reader.planted("addend_row_stride_ignored"))
    keep_leading_dimension(dense.m, p.m, &ProductAxis::addend);
  if (reader.planted("permute_of_dense_strides")) p = dense;
  return true;
}

bool restride(MultiplyReduce& op, Reader& reader) {
  const MultiplyReduce dense = op;
  if (reader.reads(op.a) && !restride({&op.kept, &op.summed}, &ProductAxis::a, reader)) return false;
  if (reader.reads(op.b) && !restride({&op.kept, &op.summed}, &ProductAxis::b, reader)) return false;
  if (reader.reads(op.b) && reader.planted("reduction_reads_right_densely")) op = dense;
  return true;
}

bool restride(MergedProduct& op, Reader& reader) {
  if (!reader.reads(op.x)) return true;
  const Axes dense = op.m;
  if (!restride({&op.m, &op.k}, &ProductAxis::a, reader)) return false;
  if (reader.planted("merged_row_stride_is_depth")) keep_leading_dimension(dense, op.m, &ProductAxis::a);
  return true;
}

bool restride(const Shape& batch, int64_t rows, int64_t columns, MatrixOperand& operand, Reader& reader) {
  if (!reader.reads(operand.value)) return true;
  reader.find();
  for (size_t i = 0; i < batch.size(); ++i) {
    if (!reader.restride(batch[i], operand.batch_strides[i])) return false;
  }
  return reader.restride(rows, operand.row) && reader.restride(columns, operand.column);
}

bool restride(FusedAttention& op, Reader& reader) {
  const FusedAttention dense = op;
  MatrixOperand &mask = op.mask.mask, &other = op.mask.other;
  if (!restride(op.batch, op.queries, op.depth, op.q, reader) ||
      !restride(op.batch, op.keys, op.depth, op.k, reader) ||
      !restride(op.batch, op.keys, op.width, op.v, reader) ||
      !restride(op.batch, op.queries, op.keys, mask, reader) ||
      !restride(op.batch, op.queries, op.keys, other, reader))
    return false;
  if (reader.reads(op.k.value) && reader.planted("key_strides_ignored")) op.k = dense.k;
  if (reader.reads(op.q.value) && reader.planted("query_row_stride_is_depth")) op.q.row = dense.q.row;
  if (reader.reads(op.v.value) && reader.planted("value_batch_stride_dropped"))
    op.v.batch_strides = dense.v.batch_strides;
  if (reader.reads(mask.value) && reader.planted("expanded_mask_read_densely")) mask = dense.mask.mask;
  return true;
}

// The distance of rows whose elements are next to each other.
bool restride(int64_t rows, int64_t columns, int64_t& pitch, Reader& reader) {
  reader.find();
  int64_t unit = 1;
  return reader.restride(columns, unit) && (unit == 1 || columns == 1) && reader.restride(rows, pitch);
}

bool restride(WelfordNorm& norm, Reader& reader) {
  if (!reader.reads(norm.x)) return true;
  if (!restride(norm.rows, norm.columns, norm.pitch, reader)) return false;
  if (reader.planted("layer_norm_row_stride_is_width")) norm.pitch = norm.columns;
  return true;
}

bool restride(FusedLogSoftmax& op, Reader& reader) {
  return !reader.reads(op.x) || restride(op.rows, op.columns, op.pitch, reader);
}

bool restride(AddNorm& norm, Reader& reader) {
  if (reader.reads(norm.x) && !restride(norm.rows, norm.columns, norm.x_pitch, reader)) return false;
  if (reader.reads(norm.addend) && !restride(norm.rows, norm.columns, norm.addend_pitch, reader))
    return false;
  if (reader.reads(norm.addend) && reader.planted("residual_row_stride_is_width"))
    norm.addend_pitch = norm.columns;
  return true;
}

bool restride(AttentionBackward& op, Reader& reader) {
  const MatrixOperand dense = op.dy;
  if (!restride(op.attention, reader) ||
      !restride(op.attention.batch, op.attention.queries, op.attention.width, op.dy, reader))
    return false;
  if (reader.reads(op.dy.value) && reader.planted("result_gradient_read_densely")) op.dy = dense;
  return true;
}

bool restride(NormBackward& op, Reader& reader) {
  if (reader.reads(op.dy) && !restride(op.rows, op.columns, op.dy_pitch, reader)) return false;
  if (reader.reads(op.x) && !restride(op.rows, op.columns, op.x_pitch, reader)) return false;
  if (op.addend && reader.reads(*op.addend) && !restride(op.rows, op.columns, op.addend_pitch, reader))
    return false;
  if (reader.reads(op.dy) && reader.planted("gradient_read_densely")) op.dy_pitch = op.columns;
  return true;
}

bool restride(SoftmaxGradient& op, Reader& reader) {
  if (reader.reads(op.dy) && !restride(op.rows, op.columns, op.dy_pitch, reader)) return false;
  if (reader.reads(op.y) && !restride(op.rows, op.columns, op.y_pitch, reader)) return false;
  if (reader.reads(op.y) && reader.planted("probabilities_read_densely")) op.y_pitch = op.columns;
  return true;
}

bool restride(int64_t rows, int64_t columns, Gate::Operand& operand, Reader& reader) {
  if (!reader.reads(operand.value)) return true;
  if (!restride(rows, columns, operand.pitch, reader)) return false;
  operand.first = reader.offset(operand.first);
  return true;
}

bool restride(Gate& gate, Reader& reader) {
  return restride(gate.rows, gate.columns, gate.gate, reader) &&
         restride(gate.rows, gate.columns, gate.value, reader);
}

// Splits the axes of the index space where the strides change within them.
bool restride(Shape& sizes, Shape& strides, std::span<Shape*> others, Reader& reader) {
  reader.find();
  Shape split_sizes, split_strides;
  std::vector<Shape> split_others(others.size());
  for (size_t i = 0; i < sizes.size(); ++i) {
    const auto walked = reader.walk(sizes[i], strides[i]);
    if (!walked) return false;
    int64_t inside = sizes[i];
    for (const StridedAxis& part : *walked) {
      inside /= part.size;
      split_sizes.push_back(part.size);
      split_strides.push_back(part.stride);
      for (size_t k = 0; k < others.size(); ++k) split_others[k].push_back((*others[k])[i] * inside);
    }
  }
  sizes = std::move(split_sizes);
  strides = std::move(split_strides);
  for (size_t k = 0; k < others.size(); ++k) *others[k] = std::move(split_others[k]);
  return true;
}

bool restride(PointwiseChain& chain, Reader& reader) {
  const PointwiseChain dense = chain;
  for (size_t i = 0; i < chain.operands.size(); ++i) {
    if (!reader.reads(chain.operands[i].value)) continue;
    std::vector<Shape*> others;
    for (size_t k = 0; k < chain.operands.size(); ++k) {
      if (k != i) others.push_back(&chain.operands[k].strides);
    }
    if (!restride(chain.shape, chain.operands[i].strides, others, reader)) return false;
  }
  if (reader.planted("chain_operand_read_densely") || reader.planted("permute_of_dense_strides"))
    chain = dense;
  return true;
}

bool restride(ViewCopy& copy, Reader& reader) {
  const ViewCopy dense = copy;
  if (reader.reads(copy.input) && !restride(copy.sizes, copy.strides, {}, reader)) return false;
  copy.first = reader.offset(copy.first);
  if (reader.planted("permute_of_dense_strides")) copy = dense;
  return true;
}

// The state is updated in memory that lies as the old one does.
bool restride(CacheUpdate& update, Reader& reader) {
  if (!reader.reads(update.cache)) return true;
  update.slice_pitch = update.inner;
  update.run_pitch = update.size * update.inner;
  if (!restride(update.size, update.inner, update.slice_pitch, reader)) return false;
  if (!reader.planted("cache_run_stride_is_dense")) return reader.restride(update.outer, update.run_pitch);
  return true;
}

template <class T>
bool restride(T&, Reader&) {
  return true;  // no operand has strides
}

// The loop or copy that computes a single node, where such a one exists: its operands have strides.
std::optional<FusedOp> with_strides(const Graph& graph, int index) {
  const Node& node = graph.nodes()[static_cast<size_t>(index)];
  const TensorType& out = graph.type(node.first_output);
  const OpClass kind = info(node.op).op_class;
  const auto strides = [&](ValueId v) { return broadcast_strides(graph.type(v).shape, out.shape); };
  if ((kind == OpClass::pointwise || kind == OpClass::select) && is_float(out.dtype)) {
    PointwiseChain chain;
    chain.shape = out.shape;
    PointwiseChain::Step step{node.op, out.dtype, {}};
    for (const ValueId v : node.inputs) {
      step.arguments.push_back(-1 - static_cast<int>(chain.operands.size()));
      chain.operands.push_back({v, strides(v)});
    }
    chain.steps.push_back(std::move(step));
    return chain;
  }
  if (node.inputs.size() != 1 || node.output_count != 1) return std::nullopt;
  ViewCopy copy{
      .input = node.inputs[0], .sizes = out.shape, .strides = strides_of(graph.type(node.inputs[0]).shape)};
  if (std::holds_alternative<BroadcastTo>(node.op)) {
    copy.strides = strides(copy.input);
    return copy;
  }
  if (const auto* permute = std::get_if<Permute>(&node.op)) {
    const Shape own = copy.strides;
    for (size_t i = 0; i < own.size(); ++i) copy.strides[i] = own[static_cast<size_t>(permute->dims[i])];
    return copy;
  }
  const auto* slice = std::get_if<Slice>(&node.op);
  if (!slice) return std::nullopt;
  const auto axis = static_cast<size_t>(*resolve_axis(slice->axis, out.rank()));
  copy.first = slice->start * copy.strides[axis];
  copy.strides[axis] *= slice->step;
  return copy;
}

// Empty for a single node.
std::string_view pattern_of(const Region& region) {
  return region.patterns.empty() ? std::string_view() : std::string_view(region.patterns.front());
}

}  // namespace

void read_in_place(const Graph& graph, const Faults& faults, FusedRegion& fused) {
  Region& region = fused.region;
  if (region.copied.empty()) return;
  const auto* single = std::get_if<SingleNode>(&fused.op);
  auto loop = single ? with_strides(graph, single->node) : std::nullopt;
  if (single && !loop) return;
  const FusedOp original = fused.op;
  if (loop) fused.op = std::move(*loop);
  const RegionFaults planted{pattern_of(region), faults};
  std::vector<ValueId> copied;
  for (const ValueId v : region.copied) {
    Reader reader(v, *graph.layout(v), graph.type(v), planted);
    FusedOp changed = fused.op;
    const bool done = std::visit([&](auto& op) { return restride(op, reader); }, changed);
    if (done && reader.found() > 0) {
      fused.op = std::move(changed);
      region.strided.push_back(v);
    } else {
      copied.push_back(v);
    }
  }
  region.copied = std::move(copied);
  if (region.strided.empty()) fused.op = original;
}

}  // namespace fusesmith::backends

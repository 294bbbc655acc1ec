// Exchanges: axes that belong together are found by uniting, op by op, each axis of an output with the axes
// of the inputs that it runs along with. An axis that an op reduces, cuts or reads by its place is fixed, and
// all that belong to it.
#include <algorithm>
#include <numeric>

#include "fuzz/run/symmetry.h"

namespace fusesmith::fuzz {
namespace {

class Axes {
 public:
  explicit Axes(const Graph& graph) : graph_(graph) {
    for (ValueId v = 0; v < graph.value_count(); ++v) {
      first_.push_back(static_cast<int>(parents_.size()));
      for (int axis = 0; axis < graph.type(v).rank(); ++axis)
        parents_.push_back(static_cast<int>(parents_.size()));
    }
    fixed_.resize(parents_.size(), false);
    tiled_.resize(parents_.size(), false);
    for (const Node& node : graph.nodes()) {
      node_ = &node;
      std::visit(*this, node.op);
    }
  }

  std::vector<Exchange> exchanges() {
    std::vector<Exchange> found;
    for (int root = 0; root < static_cast<int>(parents_.size()); ++root) {
      if (find(root) == root) {
        if (auto exchange = of_class(root)) found.push_back(std::move(*exchange));
      }
    }
    return found;
  }

  // By default: along with inputs that broadcast.
  template <class T>
  void operator()(const T&) {
    for (size_t i = 0; i < node_->inputs.size(); ++i) align(i, 0, 0);
  }
  void operator()(const Matmul& op) {
    const int rank_a = rank(in(0)), rank_b = rank(in(1)), rank_out = rank(out());
    for (size_t i : {size_t{0}, size_t{1}}) align(i, 2, 2);
    for (int axis = 0; axis < rank_out - 2; ++axis)
      batch_or_tiled(axis, {rank_a - rank_out, rank_b - rank_out});
    row(in(0), rank_a - (op.transpose_a ? 1 : 2), rank_out - 2);
    row(in(1), rank_b - (op.transpose_b ? 2 : 1), rank_out - 1);
    fix(in(0), rank_a - (op.transpose_a ? 2 : 1));
    fix(in(1), rank_b - (op.transpose_b ? 1 : 2));
  }
  void operator()(const Linear&) {
    const int last = rank(in(0)) - 1;
    for (int axis = 0; axis < last; ++axis) row(in(0), axis, axis);
    fix(in(0), last);
    fix(in(1), 1);
    row(in(1), 0, last);
    if (node_->inputs.size() > 2) row(in(2), 0, last);
  }
  void operator()(const Einsum& op) {
    const EinsumLabels labels = *parse_equation(op.equation);
    for (size_t i : {size_t{0}, size_t{1}}) {
      const std::string &own = i == 0 ? labels.a : labels.b, &other = i == 0 ? labels.b : labels.a;
      for (size_t axis = 0; axis < own.size(); ++axis) {
        const size_t to = labels.out.find(own[axis]);
        const auto at = static_cast<int>(axis);
        if (to == std::string::npos)
          fix(in(i), at);
        else if (other.find(own[axis]) == std::string::npos)
          row(in(i), at, static_cast<int>(to));
        else
          unite(in(i), at, out(), static_cast<int>(to));
      }
    }
  }
  void operator()(const Softmax& op) {
    align(0, 0, 0);
    fix(out(), *resolve_axis(op.axis, rank(out())));
  }
  void operator()(const LayerNorm&) { normalized(rank(out()) - 1); }
  void operator()(const RmsNorm&) { normalized(rank(out()) - 1); }
  void operator()(const GroupNorm&) { normalized(1); }
  void operator()(const ReduceSum& op) { reduced(op.axes, op.keepdims); }
  void operator()(const ReduceMean& op) { reduced(op.axes, op.keepdims); }
  void operator()(const ReduceMax& op) { reduced(op.axes, op.keepdims); }
  void operator()(const VarMean& op) { reduced(op.axes, op.keepdims); }
  void operator()(const Permute& op) {
    for (int axis = 0; axis < rank(out()); ++axis)
      unite(in(0), static_cast<int>(op.dims[static_cast<size_t>(axis)]), out(), axis);
  }
  void operator()(const Unsqueeze&) { by_sizes(); }
  void operator()(const Squeeze&) { by_sizes(); }
  void operator()(const Reshape&) { by_sizes(); }
  void operator()(const Slice& op) { all_but(op.axis); }
  void operator()(const Chunk& op) { all_but(op.axis); }
  void operator()(const Concat& op) { all_but(op.axis); }
  void operator()(const Roll& op) { all_but(op.axis); }
  void operator()(const IndexCopy& op) {
    const int axis = *resolve_axis(op.axis, rank(out()));
    for (size_t i : {size_t{0}, size_t{2}}) {
      for (int other = 0; other < rank(out()); ++other) {
        if (other != axis) unite(in(i), other, out(), other);
      }
      fix(in(i), axis);
    }
    fix(in(1), 0);
    fix(out(), axis);
  }
  void operator()(const Flip& op) {
    align(0, 0, 0);
    const std::vector<int> turned = *resolve_axes(op.axes, rank(out()));
    for (int axis : turned) fix(out(), axis);
  }
  void operator()(const Gather&) {
    const int indices = rank(in(1));
    for (int axis = 0; axis < indices; ++axis) unite(in(1), axis, out(), axis);
    for (int axis = 1; axis < rank(in(0)); ++axis) unite(in(0), axis, out(), indices + axis - 1);
    if (rank(in(0)) > 0) fix(in(0), 0);
  }
  void operator()(const Arange&) { fix(out(), 0); }
  void operator()(const CausalMask&) { fix(out(), 0), fix(out(), 1); }
  void operator()(const Rope&) {
    for (size_t i = 0; i < 3; ++i) align(i, 1, 1);
    for (ValueId v : {in(0), in(1), in(2), out()}) fix(v, rank(v) - 1);
  }
  void operator()(const Sdpa& op) {
    const int rank_out = rank(out());
    std::vector<int> shifts;
    for (size_t i = 0; i < 3; ++i) {
      align(i, 2, 2);
      shifts.push_back(rank(in(i)) - rank_out);
    }
    for (int axis = 0; axis < rank_out - 2; ++axis) batch_or_tiled(axis, shifts);
    row(in(0), rank(in(0)) - 2, rank_out - 2);
    row(in(2), rank(in(2)) - 1, rank_out - 1);
    fix(in(0), rank(in(0)) - 1);
    for (int back : {1, 2}) fix(in(1), rank(in(1)) - back);
    fix(in(2), rank(in(2)) - 2);
    if (op.mask == Sdpa::Mask::causal || op.window > 0) fix(out(), rank_out - 2);
    if (op.grouped_heads) {  // a head's place says whose keys it reads
      fix(out(), rank_out - 3);
      for (size_t i : {size_t{1}, size_t{2}}) fix(in(i), rank(in(i)) - 3);
    }
    if (node_->inputs.size() < 4) return;
    const int last = rank(in(3)) - 1;
    align(3, 1, 1);
    if (last >= 0) fix(in(3), last);
  }

 private:
  ValueId in(size_t i) const { return node_->inputs[i]; }
  ValueId out() const { return node_->first_output; }
  int rank(ValueId v) const { return graph_.type(v).rank(); }
  int64_t size(ValueId v, int axis) const { return graph_.type(v).shape[static_cast<size_t>(axis)]; }
  int id(ValueId v, int axis) const { return first_[static_cast<size_t>(v)] + axis; }
  int find(int at) const {
    while (parents_[static_cast<size_t>(at)] != at) at = parents_[static_cast<size_t>(at)];
    return at;
  }
  // Of one size, or the input repeats along it and does not notice.
  void unite(ValueId a, int axis_a, ValueId b, int axis_b) {
    if (size(a, axis_a) != size(b, axis_b)) return;
    parents_[static_cast<size_t>(find(id(a, axis_a)))] = find(id(b, axis_b));
  }
  void fix(ValueId v, int axis) { fixed_[static_cast<size_t>(id(v, axis))] = true; }
  // Of an operand of a product: its rows or columns become those of the output.
  void row(ValueId v, int axis, int to) {
    unite(v, axis, out(), to);
    tiled_[static_cast<size_t>(id(out(), to))] = true;
  }
  // A batch axis of the output that some operand does not have may be counted among the other's rows.
  void batch_or_tiled(int axis, const std::vector<int>& shifts) {
    for (size_t i = 0; i < shifts.size(); ++i) {
      const int own = axis + shifts[i];
      if (own < 0 || size(in(i), own) != size(out(), axis))
        tiled_[static_cast<size_t>(id(out(), axis))] = true;
    }
  }
  // Axes counted from the end, but for the last few of the input and of the output.
  void align(size_t i, int but_in, int but_out) {
    int from = rank(in(i)) - 1 - but_in, to = rank(out()) - 1 - but_out;
    for (; from >= 0 && to >= 0; --from, --to) {
      for (int k = 0; k < node_->output_count; ++k) unite(in(i), from, out() + k, to);
    }
  }
  void normalized(int first_fixed) {
    align(0, 0, 0);
    for (int axis = first_fixed; axis < rank(out()); ++axis) fix(out(), axis);
    for (size_t i = 1; i < node_->inputs.size(); ++i) fix(in(i), 0);
  }
  void reduced(const Shape& axes, bool keepdims) {
    const std::vector<int> gone = *resolve_axes(axes, rank(in(0)));
    int to = 0;
    for (int axis = 0; axis < rank(in(0)); ++axis) {
      if (std::find(gone.begin(), gone.end(), axis) != gone.end()) {
        fix(in(0), axis);
        to += keepdims;
        continue;
      }
      for (int k = 0; k < node_->output_count; ++k) unite(in(0), axis, out() + k, to);
      ++to;
    }
  }
  // The same elements in row-major order: axes with as many elements before and behind them.
  void by_sizes() {
    const Shape &from = graph_.type(in(0)).shape, &to = graph_.type(out()).shape;
    const Shape from_strides = strides_of(from), to_strides = strides_of(to);
    std::vector<bool> kept(to.size(), false);
    for (size_t i = 0; i < from.size(); ++i) {
      bool found = from[i] == 1;
      for (size_t j = 0; j < to.size() && !found; ++j) {
        found = from[i] == to[j] && from_strides[i] == to_strides[j];
        if (!found) continue;
        unite(in(0), static_cast<int>(i), out(), static_cast<int>(j));
        kept[j] = true;
      }
      if (!found) fix(in(0), static_cast<int>(i));
    }
    for (size_t j = 0; j < to.size(); ++j) {
      if (!kept[j]) fix(out(), static_cast<int>(j));
    }
  }
  // One axis is cut, joined or read in another order.
  void all_but(int64_t cut) {
    const int axis = *resolve_axis(cut, rank(out()));
    for (ValueId v : node_->inputs) {
      fix(v, axis);
      for (int k = 0; k < node_->output_count; ++k) {
        fix(out() + k, axis);
        for (int other = 0; other < rank(out()); ++other) {
          if (other != axis) unite(v, other, out() + k, other);
        }
      }
    }
  }

  std::optional<Exchange> of_class(int root) const {
    Exchange exchange;
    exchange.axes.assign(first_.size(), -1);
    for (ValueId v = 0; v < graph_.value_count(); ++v) {
      for (int axis = 0; axis < rank(v); ++axis) {
        if (find(id(v, axis)) != root) continue;
        const auto at = static_cast<size_t>(id(v, axis));
        int& own = exchange.axes[static_cast<size_t>(v)];
        if (fixed_[at] || own >= 0 || size(v, axis) < 2) return std::nullopt;  // also a diagonal
        own = axis;
        exchange.size = size(v, axis);
        exchange.bit_for_bit = exchange.bit_for_bit && !tiled_[at];
      }
    }
    return exchange;
  }

  const Graph& graph_;
  const Node* node_ = nullptr;
  std::vector<int> first_, parents_;
  std::vector<bool> fixed_, tiled_;
};

}  // namespace

std::vector<Exchange> exchanges_of(const Graph& graph) {
  if (!graph.states().empty()) return {};
  return Axes(graph).exchanges();
}

}  // namespace fusesmith::fuzz

#include "backends/rewrite/matching/folded_moves.h"

#include <algorithm>
#include <numeric>

namespace fusesmith::backends {
namespace {

constexpr size_t kMostMoves = 4;

bool is_permute(const MatchContext& context, int n) { return context.op_as<Permute>(n) != nullptr; }

Shape dims_in_order(size_t rank) {
  Shape dims(rank);
  std::iota(dims.begin(), dims.end(), 0);
  return dims;
}

Shape swap_of_last_two(size_t rank) {
  Shape dims = dims_in_order(rank);
  if (rank >= 2) std::swap(dims[rank - 1], dims[rank - 2]);
  return dims;
}

Shape permuted(const Shape& shape, const Shape& dims) {
  Shape result;
  for (int64_t dim : dims) result.push_back(shape[static_cast<size_t>(dim)]);
  return result;
}

// The dims of a permute of x. Fault: other ones, which move as many elements to each axis.
Shape dims_of(const MatchContext& context, const Permute& op, const Shape& x) {
  const size_t rank = op.dims.size();
  const Shape shape = permuted(x, op.dims);
  const auto fits = [&](const Shape& dims) { return permuted(x, dims) == shape; };
  Shape none = dims_in_order(rank);
  if (context.faults().has("permute_dims_ignored") && fits(swap_of_last_two(rank)))
    return swap_of_last_two(rank);
  if (context.faults().has("permute_of_equal_sizes_dropped") && shape == x) return none;
  if (context.faults().has("permute_inverted") && fits(inverse_dims(op.dims))) return inverse_dims(op.dims);
  const auto is_leading = [&](size_t i) { return op.dims[i] + 2 < static_cast<int64_t>(rank); };
  bool batch_apart = rank > 2;
  for (size_t i = 0; i + 2 < rank; ++i) batch_apart = batch_apart && is_leading(i);
  if (context.faults().has("permute_batch_stride_unpermuted") && batch_apart) {
    std::copy(op.dims.end() - 2, op.dims.end(), none.end() - 2);
    return none;
  }
  return op.dims;
}

}  // namespace

bool Moves::has_permute(const MatchContext& context, size_t count) const {
  return std::any_of(nodes.begin(), nodes.begin() + static_cast<std::ptrdiff_t>(count),
                     [&](int n) { return is_permute(context, n); });
}

Moves moves_before(const MatchContext& context, ValueId value) {
  Moves moves;
  while (moves.nodes.size() < kMostMoves) {
    const auto producer = context.graph().producer(value);
    if (!producer || !is_view_op(context.node(*producer).op)) break;
    if (!context.inner_producer(value)) {
      if (is_permute(context, *producer) && !context.is_inner(value)) moves.cut = context.outer_guard(value);
      break;
    }
    moves.nodes.push_back(*producer);
    value = context.node(*producer).inputs[0];
  }
  return moves;
}

Moves moves_after(const MatchContext& context, ValueId value) {
  Moves moves;
  const auto can_undo = [&](int n) {
    return is_view_op(context.node(n).op) && !context.op_as<BroadcastTo>(n);
  };
  while (moves.nodes.size() < kMostMoves) {
    const auto next = context.sole_consumer(value);
    const auto& readers = context.consumers(value);
    const bool before_permute = std::any_of(
        readers.begin(), readers.end(), [&](int n) { return is_permute(context, n) && context.is_free(n); });
    if (before_permute && !context.is_inner(value)) moves.cut = context.outer_guard(value);
    if (!next || !can_undo(*next)) break;
    moves.nodes.push_back(*next);
    value = context.output(*next);
  }
  return moves;
}

std::optional<StridedView> view_before(const MatchContext& context, const Moves& moves, size_t count,
                                       ValueId value) {
  const ValueId from = count == 0 ? value : context.node(moves.nodes[count - 1]).inputs[0];
  std::optional<StridedView> view = StridedView::dense(context.shape(from));
  for (size_t i = count; view && i-- > 0;) {
    const Node& node = context.node(moves.nodes[i]);
    const Shape& in = context.shape(node.inputs[0]);
    const auto* permute = std::get_if<Permute>(&node.op);
    view = moved(*view, permute ? Op(Permute{dims_of(context, *permute, in)}) : node.op, in);
  }
  return view;
}

std::optional<StridedView> view_after(const MatchContext& context, const Moves& moves, size_t count,
                                      ValueId value) {
  const ValueId to = count == 0 ? value : context.output(moves.nodes[count - 1]);
  std::optional<StridedView> view = StridedView::dense(context.shape(to));
  for (size_t i = count; view && i-- > 0;) {
    const Node& node = context.node(moves.nodes[i]);
    const auto* permute = std::get_if<Permute>(&node.op);
    if (!permute) continue;  // undone by another reshape, which a view does not see
    const Shape dims = inverse_dims(dims_of(context, *permute, context.shape(node.inputs[0])));
    view = moved(*view, Permute{dims}, context.shape(node.first_output));
  }
  return view;
}

}  // namespace fusesmith::backends

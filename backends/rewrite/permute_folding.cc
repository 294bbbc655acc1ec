// permute_folding: permutes, and reshapes and broadcasts between them, are not carried out but read, or
// written, through strides: by a product that reads permuted operands or whose result is permuted, and by the
// last of several permutes. No value is rounded elsewhere, so the contract is the strict one.
#include <algorithm>
#include <array>
#include <numeric>

#include "backends/rewrite/patterns.h"
#include "backends/rewrite/permute_graphs.h"
#include "backends/rewrite/product.h"
#include "backends/rewrite/strided_view.h"

namespace fusesmith {
namespace {

constexpr std::string_view kName = "permute_folding";
constexpr std::string_view kReadElsewhere = "read_elsewhere", kNoStrides = "no_strides";
constexpr std::string_view kGuards[] = {kReadElsewhere, kNoStrides};
constexpr size_t kMostMoves = 4;  // on one side of a product

bool is_permute(const MatchContext& context, int n) { return context.op_as<Permute>(n) != nullptr; }

// Movement ops in a row, nearest to the product first.
struct Moves {
  std::vector<int> nodes;
  bool cut = false;  // one more permute stands there, but its value is read elsewhere

  bool has_permute(const MatchContext& context) const {
    return std::any_of(nodes.begin(), nodes.end(), [&](int n) { return is_permute(context, n); });
  }
};

// Those that make the value.
Moves moves_before(const MatchContext& context, ValueId value) {
  Moves moves;
  while (moves.nodes.size() < kMostMoves) {
    const auto producer = context.graph().producer(value);
    if (!producer || !is_view_op(context.node(*producer).op)) break;
    if (!context.inner_producer(value)) {
      moves.cut = is_permute(context, *producer) && !context.is_inner(value);
      break;
    }
    moves.nodes.push_back(*producer);
    value = context.node(*producer).inputs[0];
  }
  return moves;
}

// Those that the value goes through. What repeats elements cannot be undone.
Moves moves_after(const MatchContext& context, ValueId value) {
  Moves moves;
  const auto can_undo = [&](int n) {
    return is_view_op(context.node(n).op) && !context.op_as<BroadcastTo>(n);
  };
  while (moves.nodes.size() < kMostMoves) {
    const auto next = context.sole_consumer(value);
    if (!next) {
      const auto& readers = context.consumers(value);
      moves.cut = !context.is_inner(value) && std::any_of(readers.begin(), readers.end(), [&](int n) {
        return is_permute(context, n) && context.is_free(n);
      });
    }
    if (!next || !can_undo(*next)) break;
    moves.nodes.push_back(*next);
    value = context.output(*next);
  }
  return moves;
}

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

// The dims of a permute of x. Planted: other ones, which move as many elements to each axis.
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

// How the value behind the first `count` of these moves is found in the value before them.
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

// How the value before the first `count` of these moves is found in the value behind them.
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

// One side of a product: how many of its moves are folded, and how it is then read.
struct Folded {
  size_t count;
  ValueId value;
  StridedView view;
};

// Longest first; the last folds nothing.
std::vector<Folded> foldings(const MatchContext& context, const Moves& moves, ValueId value, bool before) {
  std::vector<Folded> found;
  const size_t most = moves.has_permute(context) ? moves.nodes.size() : 0;
  for (size_t count = most + 1; count-- > 0;) {
    const auto first = moves.nodes.begin();
    const bool permutes = std::any_of(first, first + static_cast<std::ptrdiff_t>(count),
                                      [&](int n) { return is_permute(context, n); });
    if (count > 0 && !permutes) continue;
    const auto view =
        before ? view_before(context, moves, count, value) : view_after(context, moves, count, value);
    if (!view) continue;
    const ValueId reached = count == 0 ? value
                            : before   ? context.node(moves.nodes[count - 1]).inputs[0]
                                       : context.output(moves.nodes[count - 1]);
    found.push_back({count, reached, *view});
  }
  return found;
}

// The product with as many moves folded as strides can say, those of a first.
std::optional<Match> fold(const MatchContext& context, int n, const std::array<Moves, 3>& moves) {
  const Node& node = context.node(n);
  const BatchedProduct dense = *gemm_product(context.graph(), node);
  const auto as = foldings(context, moves[0], node.inputs[0], true),
             bs = foldings(context, moves[1], node.inputs[1], true),
             outs = foldings(context, moves[2], node.first_output, false);
  for (const Folded& a : as) {
    for (const Folded& b : bs) {
      for (const Folded& out : outs) {
        if (a.count + b.count + out.count == 0) return std::nullopt;
        auto product = through_views(dense, a.view, b.view, out.view);
        if (!product) continue;
        product->a = a.value;
        product->b = b.value;
        FusedGemm gemm{std::move(*product), {}, {}, {}};
        if (node.inputs.size() == 3) gemm.bias = node.inputs[2];
        Match found{{n}, {std::string(kName)}, {}, std::move(gemm)};
        const size_t counts[] = {a.count, b.count, out.count};
        for (size_t side = 0; side < 3; ++side) {
          const auto first = moves[side].nodes.begin();
          found.nodes.insert(found.nodes.end(), first, first + static_cast<std::ptrdiff_t>(counts[side]));
        }
        return found;
      }
    }
  }
  return std::nullopt;
}

std::optional<Match> match_product(const MatchContext& context, int n) {
  const Node& node = context.node(n);
  const bool is_einsum = context.op_as<Einsum>(n) != nullptr;
  if (is_einsum && !context.enabled("einsum_to_gemm")) return std::nullopt;
  if (node.output_count != 1 || !gemm_product(context.graph(), node)) return std::nullopt;
  const std::array moves = {moves_before(context, node.inputs[0]), moves_before(context, node.inputs[1]),
                            moves_after(context, node.first_output)};
  auto found = fold(context, n, moves);
  if (found) {
    if (is_einsum) found->patterns.emplace_back("einsum_to_gemm");
    return found;
  }
  for (const Moves& side : moves) {
    if (side.has_permute(context)) return context.refuse(kNoStrides);
  }
  for (const Moves& side : moves) {
    if (side.cut) return context.refuse(kReadElsewhere);
  }
  return std::nullopt;
}

// The last of several permutes: one copy for all of them.
std::optional<Match> match_permute(const MatchContext& context, int n) {
  Moves moves = moves_before(context, context.node(n).inputs[0]);
  if (!moves.has_permute(context)) {
    if (moves.cut) return context.refuse(kReadElsewhere);
    return std::nullopt;
  }
  moves.nodes.insert(moves.nodes.begin(), n);
  for (size_t count = moves.nodes.size(); count > 1; --count) {
    const auto view = view_before(context, moves, count, -1);
    if (!view) continue;
    ViewCopy copy{context.node(moves.nodes[count - 1]).inputs[0], {}, {}};
    for (const StridedAxis& axis : view->axes) {
      copy.sizes.push_back(axis.size);
      copy.strides.push_back(axis.stride);
    }
    moves.nodes.resize(count);
    return Match{moves.nodes, {std::string(kName)}, {}, std::move(copy)};
  }
  return context.refuse(kNoStrides);
}

std::optional<Match> match(const MatchContext& context, int n) {
  return is_permute(context, n) ? match_permute(context, n) : match_product(context, n);
}

}  // namespace

Pattern permute_folding_pattern() {
  return {kName,
          "permutes before or after a product, or before another permute -> read and written through strides",
          match,
          permute_folding_examples(),
          permute_folding_near_misses(),
          kGuards};
}

}  // namespace fusesmith

// permute_folding: permutes, and reshapes and broadcasts between them, are not carried out but read, or
// written, through strides: by a product that reads permuted operands or whose result is permuted, by a
// pointwise op that stands alone, and by the last of several permutes. No value is rounded elsewhere, so the
// contract is the strict one.
#include <algorithm>
#include <array>

#include "backends/rewrite/matching/folded_moves.h"
#include "backends/rewrite/matching/pointwise.h"
#include "backends/rewrite/matching/product.h"
#include "backends/rewrite/patterns.h"
#include "backends/rewrite/permute/permute_graphs.h"

namespace fusesmith::backends {
namespace {

constexpr std::string_view kPermuteFoldingName = "permute_folding";
constexpr std::string_view kNoStrides = "no_strides", kInAChain = "in_a_chain";
constexpr std::string_view kPermuteFoldingGuards[] = {
    kSecondReader, kObserved,
    kNoStrides,  // a reshape cuts across what was permuted
    kInAChain,   // a pointwise op with neighbours: pointwise_chain runs them in one loop
};

// One operand, or the result: how many of its moves are folded, and how it is then read.
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
    if (count > 0 && !moves.has_permute(context, count)) continue;
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

void take(const Moves& moves, size_t count, Match& found) {
  const auto first = moves.nodes.begin();
  found.nodes.insert(found.nodes.end(), first, first + static_cast<std::ptrdiff_t>(count));
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
        Match found{{n}, {std::string(kPermuteFoldingName)}, {}, std::move(gemm)};
        const size_t counts[] = {a.count, b.count, out.count};
        for (size_t side = 0; side < 3; ++side) take(moves[side], counts[side], found);
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
    if (side.cut) return context.refuse(*side.cut);
  }
  return std::nullopt;
}

// The last of several permutes: one copy for all of them.
std::optional<Match> match_permute(const MatchContext& context, int n) {
  Moves moves = moves_before(context, context.node(n).inputs[0]);
  if (!moves.has_permute(context)) {
    if (moves.cut) return context.refuse(*moves.cut);
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
    return Match{moves.nodes, {std::string(kPermuteFoldingName)}, {}, std::move(copy)};
  }
  return context.refuse(kNoStrides);
}

// Whether pointwise_chain may take the node together with a neighbour.
bool stands_in_a_chain(const MatchContext& context, int n) {
  const ValueId y = context.output(n);
  const auto next = context.sole_consumer(y);
  if (next && is_elementwise(context, *next) && context.shape(context.output(*next)) == context.shape(y))
    return true;
  const auto& inputs = context.node(n).inputs;
  return std::any_of(inputs.begin(), inputs.end(), [&](ValueId v) {
    const auto producer = context.inner_producer(v);
    return producer && is_elementwise(context, *producer) && context.shape(v) == context.shape(y);
  });
}

// As an operand of a loop over `shape`, with as many moves folded as strides can say.
Folded pointwise_operand(const MatchContext& context, const Moves& moves, ValueId value, const Shape& shape) {
  for (Folded& folded : foldings(context, moves, value, true)) {
    if (auto view = moved(folded.view, BroadcastTo{shape}, context.shape(value))) {
      folded.view = std::move(*view);
      return folded;
    }
  }
  const StridedView dense = StridedView::dense(context.shape(value));
  return {0, value, *moved(dense, BroadcastTo{shape}, context.shape(value))};
}

// A pointwise op by itself: a loop that reads permuted values where they lie.
std::optional<Match> match_pointwise(const MatchContext& context, int n) {
  const Node& node = context.node(n);
  std::vector<Moves> moves;
  for (ValueId v : node.inputs) moves.push_back(moves_before(context, v));
  const auto has_permute = [&](const Moves& m) { return m.has_permute(context); };
  if (std::none_of(moves.begin(), moves.end(), has_permute)) {
    for (const Moves& m : moves) {
      if (m.cut) return context.refuse(*m.cut);
    }
    return std::nullopt;
  }
  if (stands_in_a_chain(context, n)) return context.refuse(kInAChain);
  const TensorType& type = context.graph().type(node.first_output);
  Match found{{n}, {std::string(kPermuteFoldingName)}, {}, SingleNode{}};
  PointwiseChain chain;
  PointwiseChain::Step step{node.op, type.dtype, {}};
  std::vector<StridedAxes> operands;
  for (size_t i = 0; i < moves.size(); ++i) {
    const Folded folded = pointwise_operand(context, moves[i], node.inputs[i], type.shape);
    take(moves[i], folded.count, found);
    step.arguments.push_back(-1 - static_cast<int>(i));
    chain.operands.push_back({folded.value, {}});
    operands.push_back(folded.view.axes);
  }
  if (found.nodes.size() == 1 || !cut_alike(operands) || operands[0].size() > size_t{kMaxRank})
    return context.refuse(kNoStrides);
  for (const StridedAxis& axis : operands[0]) chain.shape.push_back(axis.size);
  for (size_t i = 0; i < operands.size(); ++i) {
    for (const StridedAxis& axis : operands[i]) chain.operands[i].strides.push_back(axis.stride);
  }
  chain.steps.push_back(std::move(step));
  found.op = std::move(chain);
  return found;
}

std::optional<Match> match_permute_folding(const MatchContext& context, int n) {
  if (context.op_as<Permute>(n)) return match_permute(context, n);
  return is_pointwise(context.node(n).op) ? match_pointwise(context, n) : match_product(context, n);
}

}  // namespace

Pattern permute_folding_pattern() {
  return {kPermuteFoldingName,
          "permutes around a product, before a pointwise op or another permute -> read and written through "
          "strides",
          match_permute_folding,
          permute_folding_examples(),
          permute_folding_near_misses(),
          kPermuteFoldingGuards};
}

}  // namespace fusesmith::backends

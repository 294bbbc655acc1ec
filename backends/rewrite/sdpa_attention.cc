// Attention found from its parts, backwards from the product with v. Every step checks that it goes through
// an inner value, so that nothing else sees what the kernel keeps to itself.
#include <limits>

#include "backends/rewrite/deviations.h"
#include "backends/rewrite/sdpa_matcher.h"

namespace fusesmith {
namespace {

// The scores and how they came to be: scale?(matmul(scale?(q), scale?(k)^T)).
struct Scores {
  std::vector<int> nodes;
  ValueId q = -1, k = -1;
  bool q_transposed = false;  // stored as [depth, queries]
  std::optional<AttentionScale> q_scale, k_scale, score_scale;
};

AttentionScale scale_of(const Scale& op) { return {op.factor, op.inverse, {}}; }

bool swaps_last_two(const Permute& op) {
  const size_t rank = op.dims.size();
  if (rank < 2) return false;
  for (size_t i = 0; i + 2 < rank; ++i) {
    if (op.dims[i] != static_cast<int64_t>(i)) return false;
  }
  return op.dims[rank - 2] == static_cast<int64_t>(rank) - 1 &&
         op.dims[rank - 1] == static_cast<int64_t>(rank) - 2;
}

// Takes in a scale op that makes `value`, which becomes its input.
std::optional<AttentionScale> take_scale(const MatchContext& context, ValueId& value,
                                         std::vector<int>& nodes) {
  const auto n = context.inner_producer_as<Scale>(value);
  if (!n) return std::nullopt;
  nodes.push_back(*n);
  value = context.node(*n).inputs[0];
  return scale_of(*context.op_as<Scale>(*n));
}

std::optional<Scores> match_product(const MatchContext& context, ValueId value) {
  const auto n = context.inner_producer_as<Matmul>(value);
  if (!n) return std::nullopt;
  const Matmul& op = *context.op_as<Matmul>(*n);
  Scores scores;
  scores.nodes = {*n};
  scores.q = context.node(*n).inputs[0];
  scores.k = context.node(*n).inputs[1];
  scores.q_transposed = op.transpose_a;
  scores.q_scale = take_scale(context, scores.q, scores.nodes);
  scores.k_scale = take_scale(context, scores.k, scores.nodes);
  if (op.transpose_b) return scores;
  const auto permute = context.inner_producer_as<Permute>(scores.k);
  if (!permute || !swaps_last_two(*context.op_as<Permute>(*permute))) return std::nullopt;
  scores.nodes.push_back(*permute);
  scores.k = context.node(*permute).inputs[0];
  if (!scores.k_scale) scores.k_scale = take_scale(context, scores.k, scores.nodes);
  return scores;
}

// The product times, or divided by, the one element of a tensor.
std::optional<Scores> match_tensor_scale(const MatchContext& context, int n) {
  const Node& node = context.node(n);
  const bool divide = context.op_as<Div>(n) != nullptr;
  if (!divide && !context.op_as<Mul>(n)) return std::nullopt;
  for (size_t i = 0; i < (divide ? 1 : 2); ++i) {
    const ValueId factor = node.inputs[1 - i];
    if (element_count(context.shape(factor)) != 1) continue;
    if (context.shape(node.first_output) != context.shape(node.inputs[i])) continue;
    auto scores = match_product(context, node.inputs[i]);
    if (!scores) continue;
    scores->score_scale = AttentionScale{1, divide, factor};
    return scores;
  }
  return std::nullopt;
}

std::optional<Scores> match_scores(const MatchContext& context, ValueId value) {
  const auto n = context.inner_producer(value);
  if (!n) return std::nullopt;
  std::optional<Scores> scores;
  if (const auto* scale = context.op_as<Scale>(*n)) {
    scores = match_product(context, context.node(*n).inputs[0]);
    if (scores) scores->score_scale = scale_of(*scale);
  } else {
    scores = match_tensor_scale(context, *n);
  }
  if (!scores) return match_product(context, value);
  scores->nodes.push_back(*n);
  return scores;
}

struct MaskedScores {
  Scores scores;
  AttentionMask mask;  // without strides
  ValueId mask_value = -1, other = -1;
};

// masked_fill by -inf. A causal_mask op is known by its attributes, whether or not this is its only reader.
std::optional<MaskedScores> match_fill(const MatchContext& context, int n) {
  const auto& op = *context.op_as<MaskedFill>(n);
  const Node& node = context.node(n);
  if (op.value != -std::numeric_limits<double>::infinity()) return std::nullopt;
  auto scores = match_scores(context, node.inputs[0]);
  if (!scores) return std::nullopt;
  MaskedScores masked{std::move(*scores), {}, node.inputs[1], -1};
  masked.scores.nodes.push_back(n);
  masked.mask.kind = AttentionMask::Kind::boolean;
  masked.mask.hidden = !op.inverted;
  const Shape& shape = context.shape(node.first_output);
  const auto source = context.graph().producer(node.inputs[1]);
  const auto* causal = source ? context.op_as<CausalMask>(*source) : nullptr;
  if (causal && !op.inverted && shape.size() >= 2 && causal->rows == shape[shape.size() - 2] &&
      causal->cols == shape.back()) {
    masked.mask.kind = AttentionMask::Kind::causal;
    masked.mask.causal_offset = causal_offset(causal->alignment, causal->rows, causal->cols);
    if (context.inner_producer(node.inputs[1])) masked.scores.nodes.push_back(*source);
  }
  return masked;
}

// scores + mask, mask + scores, where(mask, scores, other), where(mask, other, scores).
std::optional<MaskedScores> match_two_sided(const MatchContext& context, int n) {
  const Node& node = context.node(n);
  const bool select = context.op_as<Where>(n) != nullptr;
  if (!select && !context.op_as<Add>(n)) return std::nullopt;
  const size_t first = select ? 1 : 0;
  for (size_t i : {first, first + 1}) {
    if (context.shape(node.first_output) != context.shape(node.inputs[i])) continue;
    auto scores = match_scores(context, node.inputs[i]);
    if (!scores) continue;
    const ValueId other = node.inputs[2 * first + 1 - i];
    MaskedScores masked{std::move(*scores), {}, select ? node.inputs[0] : other, select ? other : -1};
    masked.scores.nodes.push_back(n);
    masked.mask.kind = select ? AttentionMask::Kind::select : AttentionMask::Kind::additive;
    masked.mask.hidden = i != first;
    return masked;
  }
  return std::nullopt;
}

std::optional<MaskedScores> match_masked(const MatchContext& context, ValueId value) {
  const auto n = context.inner_producer(value);
  if (!n) return std::nullopt;
  auto masked = context.op_as<MaskedFill>(*n) ? match_fill(context, *n) : match_two_sided(context, *n);
  if (masked) return masked;
  auto scores = match_scores(context, value);
  if (!scores) return std::nullopt;
  return MaskedScores{std::move(*scores), {}, -1, -1};
}

FusedAttention attention_of(const MatchContext& context, const MaskedScores& masked, int out, ValueId p) {
  const Graph& graph = context.graph();
  const Scores& scores = masked.scores;
  const Shape &shape = context.shape(context.output(out)), &p_shape = context.shape(p);
  FusedAttention attention;
  attention.batch = Shape(shape.begin(), shape.end() - 2);
  attention.queries = shape[shape.size() - 2];
  attention.width = shape.back();
  attention.keys = p_shape.back();
  const Shape& q = context.shape(scores.q);
  attention.depth = q[q.size() - (scores.q_transposed ? 2 : 1)];
  attention.q = matrix_operand(graph, scores.q, attention.batch, scores.q_transposed);
  attention.k = matrix_operand(graph, scores.k, attention.batch);
  attention.v = matrix_operand(graph, context.node(out).inputs[1], attention.batch,
                               context.op_as<Matmul>(out)->transpose_b);
  attention.q_scale = scores.q_scale;
  attention.k_scale = scores.k_scale;
  attention.score_scale = scores.score_scale;
  attention.mask = masked.mask;
  if (masked.mask_value >= 0) attention.mask.mask = matrix_operand(graph, masked.mask_value, attention.batch);
  if (masked.other >= 0) attention.mask.other = matrix_operand(graph, masked.other, attention.batch);
  attention.p_dtype = graph.type(p).dtype;
  return attention;
}

}  // namespace

std::optional<Match> match_attention(const MatchContext& context, int n) {
  const auto* product = context.op_as<Matmul>(n);
  if (!product || product->transpose_a) return std::nullopt;
  Match found{{n}, {"sdpa"}, {}, SingleNode{}};
  ValueId p = context.node(n).inputs[0];
  if (const auto dropout = context.inner_producer_as<Dropout>(p)) {
    found.nodes.push_back(*dropout);
    p = context.node(*dropout).inputs[0];
  }
  const auto softmax = context.inner_producer_as<Softmax>(p);
  if (!softmax) return std::nullopt;
  const int rank = static_cast<int>(context.shape(p).size());
  if (*resolve_axis(context.op_as<Softmax>(*softmax)->axis, rank) != rank - 1) return std::nullopt;
  found.nodes.push_back(*softmax);
  const auto masked = match_masked(context, context.node(*softmax).inputs[0]);
  if (!masked) return std::nullopt;
  const auto& inner = masked->scores.nodes;
  found.nodes.insert(found.nodes.end(), inner.begin(), inner.end());
  FusedAttention attention = attention_of(context, *masked, n, p);
  for (int m : inner) drop_rounding(found.contract, context.graph(), m);
  declare_probabilities(found.contract, attention, context.arithmetic(), context.node(*softmax).name,
                        context.node(n).name);
  found.op = std::move(attention);
  return found;
}

}  // namespace fusesmith

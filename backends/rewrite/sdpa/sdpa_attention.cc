// Attention found from its parts, backwards from the product with v. Every step checks that it goes through
// an inner value, so that nothing else sees what the kernel keeps to itself.
#include <limits>

#include "backends/rewrite/matching/deviations.h"
#include "backends/rewrite/sdpa/sdpa_matcher.h"
#include "backends/rewrite/sdpa/sdpa_scores.h"
#include "oracle/online_softmax.h"

namespace fusesmith::backends {
namespace {

// masked_fill by -inf. A causal_mask op is known by its attributes, whether or not this is its only reader.
std::optional<MaskedScores> match_fill(const MatchContext& context, int n) {
  const auto& op = *context.op_as<MaskedFill>(n);
  const Node& node = context.node(n);
  if (op.value != -std::numeric_limits<double>::infinity()) return context.refuse("finite_mask_value");
  if (context.shape(node.first_output) != context.shape(node.inputs[0]))
    return context.refuse("enlarges_scores");
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
    masked.mask.causal = *causal;
    if (context.inner_producer(node.inputs[1])) masked.scores.nodes.push_back(*source);
  }
  return masked;
}

// scores + mask, mask + scores, where(mask, scores, other), where(mask, other, scores).
std::optional<MaskedScores> match_two_sided(const MatchContext& context, int n) {
  const Node& node = context.node(n);
  const bool select = context.op_as<Where>(n) != nullptr;
  const size_t first = select ? 1 : 0;
  for (size_t i : {first, first + 1}) {
    if (!are_scores(context, node.inputs[i])) continue;
    if (context.shape(node.first_output) != context.shape(node.inputs[i])) {
      context.refuse("enlarges_scores");
      continue;
    }
    auto scores = match_scores(context, node.inputs[i]);
    if (!scores) continue;
    const ValueId other = node.inputs[2 * first + 1 - i];
    MaskedScores masked{std::move(*scores), {}, select ? node.inputs[0] : other, select ? other : -1};
    masked.scores.nodes.push_back(n);
    masked.mask.kind = select ? AttentionMask::Kind::select : AttentionMask::Kind::additive;
    masked.mask.hidden = i != first;
    if (!select && i == 1 && context.faults().has("left_mask_dropped")) {
      masked.mask.kind = AttentionMask::Kind::none;
      masked.mask_value = -1;
    }
    return masked;
  }
  return std::nullopt;
}

// v, and whether it too is repeated, in place and as often as k.
struct Values {
  ValueId value;
  int64_t group = 1;
  std::vector<int> nodes = {};
};

Values match_values(const MatchContext& context, int out, int64_t k_group) {
  const ValueId v = context.node(out).inputs[1];
  Values values{v};
  if (context.op_as<Matmul>(out)->transpose_b) return values;
  values.group = take_repeated_heads(context, values.value, values.nodes);
  if (k_group == 1 || values.group == k_group) return values;
  return {v};
}

FusedAttention attention_of(const MatchContext& context, const MaskedScores& masked, const Values& values,
                            int out, ValueId p) {
  const AttentionScores& scores = masked.scores;
  const Shape& shape = context.shape(context.output(out));
  const int64_t group = std::max(scores.k_group, values.group);
  Shape batch(shape.begin(), shape.end() - 2);
  const Shape of_values = values.group > 1 ? fewer_heads(batch, group) : batch;
  FusedAttention attention = attention_of_scores(context, masked, std::move(batch), p, group);
  attention.width = shape.back();
  attention.v =
      matrix_operand(context.graph(), values.value, of_values, context.op_as<Matmul>(out)->transpose_b);
  if (group > 1) group_heads(attention, group, scores.k_group > 1, values.group > 1, context.faults());
  return attention;
}

// The softmax below dropouts and casts, if its input are scores.
std::optional<int> softmax_of_scores(const MatchContext& context, ValueId value) {
  for (auto n = context.graph().producer(value); n; n = context.graph().producer(value)) {
    value = context.node(*n).inputs.empty() ? -1 : context.node(*n).inputs[0];
    if (context.op_as<Softmax>(*n)) return are_scores(context, value) ? n : std::nullopt;
    if (!context.op_as<Dropout>(*n) && !context.op_as<Cast>(*n)) return std::nullopt;
  }
  return std::nullopt;
}

// The softmax that makes p, through dropouts that do nothing; `nodes` gains all of them.
std::optional<int> take_softmax(const MatchContext& context, ValueId p, std::vector<int>& nodes) {
  for (;;) {
    const auto n = take_producer(context, p);
    if (!n) return std::nullopt;
    if (context.op_as<Cast>(*n)) return context.refuse("cast_inside");
    nodes.push_back(*n);
    if (context.op_as<Softmax>(*n)) return n;
    p = context.node(*n).inputs[0];
  }
}

}  // namespace

std::optional<MaskedScores> match_masked(const MatchContext& context, ValueId value) {
  const auto n = take_producer(context, value);
  if (!n) return std::nullopt;
  if (context.op_as<MaskedFill>(*n)) return match_fill(context, *n);
  if (context.op_as<Add>(*n) || context.op_as<Where>(*n)) return match_two_sided(context, *n);
  auto scores = match_scores(context, value);
  if (!scores) return std::nullopt;
  return MaskedScores{std::move(*scores), {}, -1, -1};
}

FusedAttention attention_of_scores(const MatchContext& context, const MaskedScores& masked, Shape batch,
                                   ValueId p, int64_t group) {
  const Graph& graph = context.graph();
  const AttentionScores& scores = masked.scores;
  const Shape &p_shape = context.shape(p), &q = context.shape(scores.q);
  FusedAttention attention;
  attention.batch = std::move(batch);
  attention.queries = p_shape.end()[-2];
  attention.keys = p_shape.back();
  attention.depth = q[q.size() - (scores.q_transposed ? 2 : 1)];
  attention.q = matrix_operand(graph, scores.q, attention.batch, scores.q_transposed);
  attention.k = matrix_operand(graph, scores.k,
                               scores.k_group > 1 ? fewer_heads(attention.batch, group) : attention.batch);
  attention.q_scale = scores.q_scale;
  attention.k_scale = scores.k_scale;
  attention.score_scale = scores.score_scale;
  attention.softcap = scores.softcap;
  attention.mask = masked.mask;
  if (masked.mask_value >= 0) attention.mask.mask = matrix_operand(graph, masked.mask_value, attention.batch);
  if (masked.other >= 0) attention.mask.other = matrix_operand(graph, masked.other, attention.batch);
  attention.p_dtype = graph.type(p).dtype;
  return attention;
}

std::optional<Match> match_attention(const MatchContext& context, int n) {
  const auto* product = context.op_as<Matmul>(n);
  if (!product) return std::nullopt;
  const Node& node = context.node(n);
  if (!softmax_of_scores(context, node.inputs[0])) {
    if (softmax_of_scores(context, node.inputs[1])) return context.refuse("probabilities_on_the_right");
    return std::nullopt;
  }
  if (product->transpose_a) return context.refuse("probabilities_transposed");
  Match found{{n}, {"sdpa"}, {}, SingleNode{}};
  const auto softmax = take_softmax(context, node.inputs[0], found.nodes);
  if (!softmax) return std::nullopt;
  const ValueId p = context.output(*softmax);
  const int rank = static_cast<int>(context.shape(p).size());
  if (*resolve_axis(context.op_as<Softmax>(*softmax)->axis, rank) != rank - 1)
    return context.refuse("softmax_axis");
  const auto masked = match_masked(context, context.node(*softmax).inputs[0]);
  if (!masked) return std::nullopt;
  const Values values = match_values(context, n, masked->scores.k_group);
  const auto& inner = masked->scores.nodes;
  found.nodes.insert(found.nodes.end(), inner.begin(), inner.end());
  found.nodes.insert(found.nodes.end(), values.nodes.begin(), values.nodes.end());
  FusedAttention attention = attention_of(context, *masked, values, n, p);
  for (int m : inner) drop_rounding(found.contract, context.graph(), m);
  oracle::declare_online_softmax(found.contract, context.node(*softmax).name, node.name, attention.p_dtype,
                                 rescales(attention), context.arithmetic().exp);
  plant_mistakes(attention, context.faults());
  found.op = std::move(attention);
  return found;
}

}  // namespace fusesmith::backends

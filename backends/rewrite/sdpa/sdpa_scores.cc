#include "backends/rewrite/sdpa/sdpa_scores.h"

#include <algorithm>

namespace fusesmith::backends {
namespace {

bool is_any_of(const Node& node, std::initializer_list<std::string_view> ops) {
  return std::find(ops.begin(), ops.end(), name(node.op)) != ops.end();
}

bool swaps_last_two(const Permute& op) {
  const size_t rank = op.dims.size();
  if (rank < 2) return false;
  for (size_t i = 0; i + 2 < rank; ++i) {
    if (op.dims[i] != static_cast<int64_t>(i)) return false;
  }
  return op.dims[rank - 2] == static_cast<int64_t>(rank) - 1 &&
         op.dims[rank - 1] == static_cast<int64_t>(rank) - 2;
}

// Fault: sizes that fit by accident stand for a permutation that was not looked at.
bool fits_by_accident(const MatchContext& context, int permute) {
  const Shape& stored = context.shape(context.node(permute).inputs[0]);
  Shape wanted = context.shape(context.output(permute));
  std::swap(wanted.end()[-2], wanted.end()[-1]);
  return context.faults().has("key_permutation_ignored") && stored == wanted;
}

// Takes in a scale op that makes `value`, which becomes its input.
std::optional<AttentionScale> take_scale(const MatchContext& context, ValueId& value,
                                         std::vector<int>& nodes) {
  const auto n = context.inner_producer_as<Scale>(value);
  if (!n) return std::nullopt;
  nodes.push_back(*n);
  value = context.node(*n).inputs[0];
  const Scale& op = *context.op_as<Scale>(*n);
  return AttentionScale{op.factor, op.inverse, {}};
}

bool take_transposition(const MatchContext& context, ValueId& value, std::vector<int>& nodes) {
  const auto n = context.inner_producer_as<Permute>(value);
  if (!n || (!swaps_last_two(*context.op_as<Permute>(*n)) && !fits_by_accident(context, *n))) return false;
  nodes.push_back(*n);
  value = context.node(*n).inputs[0];
  return true;
}

// k^T: keys scaled, repeated for groups of heads and transposed, in any order.
bool take_keys(const MatchContext& context, AttentionScores& scores, bool transposed) {
  for (bool found = true; found;) {
    found = false;
    if (!scores.k_scale) {
      scores.k_scale = take_scale(context, scores.k, scores.nodes);
      found = scores.k_scale.has_value();
    }
    if (!transposed && take_transposition(context, scores.k, scores.nodes)) transposed = found = true;
    if (scores.k_group == 1) {
      scores.k_group = take_repeated_heads(context, scores.k, scores.nodes);
      found = found || scores.k_group > 1;
    }
  }
  return transposed;
}

std::optional<AttentionScores> match_product(const MatchContext& context, ValueId value) {
  const auto n = take_producer(context, value);
  if (!n) return std::nullopt;
  if (context.op_as<Cast>(*n)) return context.refuse("cast_inside");
  const Matmul* op = context.op_as<Matmul>(*n);
  if (!op) return context.refuse("steps_in_another_order");
  AttentionScores scores;
  scores.nodes = {*n};
  scores.q = context.node(*n).inputs[0];
  scores.k = context.node(*n).inputs[1];
  scores.q_transposed = op->transpose_a;
  scores.q_scale = take_scale(context, scores.q, scores.nodes);
  if (!take_keys(context, scores, op->transpose_b)) return context.refuse("keys_not_transposed");
  return scores;
}

// The product times, or divided by, the one element of a tensor.
std::optional<AttentionScores> match_tensor_scale(const MatchContext& context, int n) {
  const Node& node = context.node(n);
  const bool divide = context.op_as<Div>(n) != nullptr;
  const size_t i = are_scores(context, node.inputs[0]) ? 0 : 1;
  if (divide && i == 1) return context.refuse("scores_divide");
  const ValueId factor = node.inputs[1 - i];
  if (element_count(context.shape(factor)) != 1) return context.refuse("scale_not_scalar");
  if (context.shape(node.first_output) != context.shape(node.inputs[i]))
    return context.refuse("enlarges_scores");
  auto scores = match_product(context, node.inputs[i]);
  if (scores) scores->score_scale = AttentionScale{1, divide, factor};
  return scores;
}

std::optional<AttentionScores> match_scaled(const MatchContext& context, ValueId value) {
  const auto n = take_producer(context, value);
  if (!n) return std::nullopt;
  const auto* scale = context.op_as<Scale>(*n);
  if (!scale && !is_any_of(context.node(*n), {"mul", "div"})) return match_product(context, value);
  auto scores = scale ? match_product(context, context.node(*n).inputs[0]) : match_tensor_scale(context, *n);
  if (!scores) return std::nullopt;
  if (scale) scores->score_scale = AttentionScale{scale->factor, scale->inverse, {}};
  scores->nodes.push_back(*n);
  return scores;
}

bool leads_to_product(const MatchContext& context, ValueId value, int steps) {
  const auto n = context.graph().producer(value);
  if (!n || steps == 0) return false;
  const Node& node = context.node(*n);
  if (context.op_as<Matmul>(*n)) return true;
  if (!is_any_of(node, {"scale", "mul", "div", "softcap", "add", "where", "masked_fill", "cast"}))
    return false;
  return std::any_of(node.inputs.begin(), node.inputs.end(),
                     [&](ValueId input) { return leads_to_product(context, input, steps - 1); });
}

}  // namespace

bool are_scores(const MatchContext& context, ValueId value) {
  constexpr int kMostSteps = 6;  // product, scale, cap, mask, and a few that a guard will name
  return leads_to_product(context, value, kMostSteps);
}

std::optional<int> take_producer(const MatchContext& context, ValueId value) {
  const auto n = context.inner_producer(value);
  if (!n) return context.refuse("inner_value_read_elsewhere");
  return n;
}

std::optional<AttentionScores> match_scores(const MatchContext& context, ValueId value) {
  const auto n = take_producer(context, value);
  if (!n) return std::nullopt;
  const auto* softcap = context.op_as<Softcap>(*n);
  if (!softcap) return match_scaled(context, value);
  auto scores = match_scaled(context, context.node(*n).inputs[0]);
  if (!scores) return std::nullopt;
  scores->softcap = softcap->cap;
  scores->nodes.push_back(*n);
  return scores;
}

int64_t take_repeated_heads(const MatchContext& context, ValueId& value, std::vector<int>& nodes) {
  const auto reshape = context.inner_producer_as<Reshape>(value);
  if (!reshape) return 1;
  const auto repeat = context.inner_producer_as<BroadcastTo>(context.node(*reshape).inputs[0]);
  if (!repeat) return 1;
  const auto unsqueeze = context.inner_producer_as<Unsqueeze>(context.node(*repeat).inputs[0]);
  if (!unsqueeze) return 1;
  const ValueId from = context.node(*unsqueeze).inputs[0];
  const Shape& shape = context.shape(from);
  const Shape& repeated = context.shape(context.output(*repeat));
  const auto rank = static_cast<std::ptrdiff_t>(shape.size());
  if (rank < 3 || repeated.size() != shape.size() + 1) return 1;
  const int64_t times = repeated[static_cast<size_t>(rank) - 2];
  Shape wanted = shape;
  wanted.insert(wanted.begin() + rank - 2, times);
  Shape merged = shape;
  merged[static_cast<size_t>(rank) - 3] *= times;
  const int axis = *resolve_axis(context.op_as<Unsqueeze>(*unsqueeze)->axis, static_cast<int>(rank) + 1);
  if (times == 1 || axis != rank - 2 || repeated != wanted || context.shape(value) != merged) return 1;
  for (const auto& n : {reshape, repeat, unsqueeze}) nodes.push_back(*n);
  value = from;
  return times;
}

}  // namespace fusesmith::backends

// attention_backward: the gradients of an attention for q, k and v, from the gradient of its result. The
// probabilities, which the backward pass of the graph reads, are computed again, tile by tile.
#include "backends/rewrite/sdpa/attention_backward.h"

#include "backends/rewrite/matching/deviations.h"
#include "backends/rewrite/patterns.h"
#include "backends/rewrite/sdpa/sdpa_matcher.h"
#include "oracle/lowerings.h"

namespace fusesmith::backends {
namespace {

constexpr std::string_view kSoftmaxAxis = "softmax_axis", kReadElsewhere = "inner_value_read_elsewhere",
                           kOtherScores = "other_scores", kOtherOperands = "other_operands";
constexpr std::string_view kAttentionBackwardGuards[] = {kSoftmaxAxis, kReadElsewhere, kOtherScores,
                                                         kOtherOperands};

// The nodes of the backward pass.
struct BackwardNodes {
  int dp = -1, ds = -1, dq = -1, dk = -1, dv = -1, softmax = -1;
  std::optional<int> scale;  // of ds
};

// The unclaimed nodes that read a value which nothing else may see: this many.
std::optional<std::vector<int>> only_readers(const MatchContext& context, ValueId value, size_t count) {
  std::vector<int> readers = context.consumers(value);
  if (readers.size() != count || context.graph().is_observed(value)) return std::nullopt;
  for (const int reader : readers) {
    if (!context.is_free(reader)) return std::nullopt;
  }
  return readers;
}

// A matmul that the node is, of `left`, transposed or not, and a right operand that is not transposed.
bool is_product_of(const MatchContext& context, int n, ValueId left, bool transposed) {
  const auto* op = context.op_as<Matmul>(n);
  return op && op->transpose_a == transposed && !op->transpose_b && context.node(n).inputs[0] == left &&
         context.node(n).inputs[1] != left;
}

// Those that read p beside the gradient of the softmax, and those that read the gradient of the scores.
bool find_products(const MatchContext& context, BackwardNodes& nodes) {
  const ValueId p = context.output(nodes.softmax);
  const auto of_p = only_readers(context, p, 2);
  if (!of_p) return false;
  nodes.dv = (*of_p)[0] == nodes.ds ? (*of_p)[1] : (*of_p)[0];
  ValueId ds = context.output(nodes.ds);
  if (const auto reader = context.sole_consumer(ds); reader && context.op_as<Scale>(*reader)) {
    nodes.scale = reader;
    ds = context.output(*reader);
  }
  const auto of_ds = only_readers(context, ds, 2);
  if (!of_ds || !is_product_of(context, nodes.dv, p, true)) return false;
  nodes.dk = (*of_ds)[is_product_of(context, (*of_ds)[0], ds, true) ? 0 : 1];
  nodes.dq = (*of_ds)[nodes.dk == (*of_ds)[0] ? 1 : 0];
  return is_product_of(context, nodes.dk, ds, true) && is_product_of(context, nodes.dq, ds, false);
}

// A softmax_backward whose operands are made by products, as those of an attention are.
std::optional<BackwardNodes> backward_candidate(const MatchContext& context, int n) {
  if (!context.op_as<SoftmaxBackward>(n)) return std::nullopt;
  const auto& inputs = context.node(n).inputs;
  const auto dp = context.graph().producer(inputs[0]), softmax = context.graph().producer(inputs[1]);
  if (!dp || !softmax || !context.op_as<Matmul>(*dp) || !context.op_as<Softmax>(*softmax))
    return std::nullopt;
  if (!are_scores(context, context.node(*softmax).inputs[0])) return std::nullopt;
  BackwardNodes nodes;
  nodes.dp = *dp;
  nodes.ds = n;
  nodes.softmax = *softmax;
  return nodes;
}

bool over_keys(const MatchContext& context, const BackwardNodes& nodes) {
  const int rank = static_cast<int>(context.shape(context.output(nodes.softmax)).size());
  return rank >= 2 && *resolve_axis(context.op_as<Softmax>(nodes.softmax)->axis, rank) == rank - 1 &&
         *resolve_axis(context.op_as<SoftmaxBackward>(nodes.ds)->axis, rank) == rank - 1;
}

// Whether the products are those of these scores: dp of dy and v, which is not dv, dq of k, dk of q, dv of
// dy.
bool operands_agree(const MatchContext& context, const BackwardNodes& nodes, const AttentionScores& scores) {
  const auto right = [&](int n) { return context.node(n).inputs[1]; };
  const auto* dp = context.op_as<Matmul>(nodes.dp);
  return !dp->transpose_a && dp->transpose_b && context.node(nodes.dp).inputs[0] == right(nodes.dv) &&
         right(nodes.dp) != context.output(nodes.dv) && right(nodes.dq) == scores.k &&
         right(nodes.dk) == scores.q;
}

AttentionBackward backward_of(const MatchContext& context, const BackwardNodes& nodes,
                              const MaskedScores& masked) {
  const ValueId p = context.output(nodes.softmax);
  const Shape& shape = context.shape(p);
  AttentionBackward op;
  op.attention = attention_of_scores(context, masked, Shape(shape.begin(), shape.end() - 2), p, 1);
  const ValueId dy = context.node(nodes.dp).inputs[0], v = context.node(nodes.dp).inputs[1];
  op.attention.width = context.shape(v).back();
  op.attention.v = matrix_operand(context.graph(), v, op.attention.batch);
  op.dy = matrix_operand(context.graph(), dy, op.attention.batch);
  if (nodes.scale) op.gradient_scale = *context.op_as<Scale>(*nodes.scale);
  const auto place = [&](int n) { return (n > nodes.dq) + (n > nodes.dk) + (n > nodes.dv); };
  op.dq = place(nodes.dq);
  op.dk = place(nodes.dk);
  op.dv = place(nodes.dv);
  return op;
}

std::optional<Match> match_attention_backward(const MatchContext& context, int n) {
  auto nodes = backward_candidate(context, n);
  if (!nodes) return std::nullopt;
  if (!over_keys(context, *nodes)) return context.refuse(kSoftmaxAxis);
  if (!find_products(context, *nodes) || !context.is_inner(context.output(nodes->dp)) ||
      !context.is_free(nodes->dp) || !context.is_free(nodes->softmax))
    return context.refuse(kReadElsewhere);
  const auto masked = match_masked(context, context.node(nodes->softmax).inputs[0]);
  if (!masked || masked->scores.k_group > 1 || masked->scores.q_transposed) {
    context.take_refusals();  // which are those of sdpa
    return context.refuse(kOtherScores);
  }
  if (!operands_agree(context, *nodes, masked->scores)) return context.refuse(kOtherOperands);
  Match found{masked->scores.nodes, {"attention_backward"}, {}, SingleNode{}};
  for (const int each : {nodes->softmax, nodes->dp, nodes->ds}) found.nodes.push_back(each);
  if (nodes->scale) found.nodes.push_back(*nodes->scale);
  for (const int each : found.nodes) drop_rounding(found.contract, context.graph(), each);
  oracle::allow_lowering(found.contract, context.graph(), context.node(nodes->softmax),
                         *oracle::find_lowering("softmax.of_logsumexp"));
  for (const int each : {nodes->dq, nodes->dk, nodes->dv}) found.nodes.push_back(each);
  if (!context.can_run_together(found.nodes)) return std::nullopt;
  found.op = backward_of(context, *nodes, *masked);
  return found;
}

}  // namespace

Pattern attention_backward_pattern() {
  return {
      "attention_backward",
      "gradients of attention for q, k and v -> probabilities computed again from the logsumexp of each row",
      match_attention_backward,
      attention_backward_examples(),
      attention_backward_near_misses(),
      kAttentionBackwardGuards};
}

}  // namespace fusesmith::backends

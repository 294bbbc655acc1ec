// The composite op sdpa as one fused attention: all its attribute forms.
#include <cmath>

#include "backends/rewrite/sdpa/sdpa_matcher.h"

namespace fusesmith::backends {
namespace {

AttentionMask mask_of(const Graph& graph, const Node& node, const FusedAttention& attention) {
  const auto& op = std::get<Sdpa>(node.op);
  AttentionMask mask;
  switch (op.mask) {
    case Sdpa::Mask::none:
    case Sdpa::Mask::causal:
      if (op.mask == Sdpa::Mask::none && op.window == 0) return mask;
      mask.kind = AttentionMask::Kind::causal;
      mask.causal = {attention.queries, attention.keys, op.alignment, op.window, op.mask == Sdpa::Mask::none};
      return mask;
    case Sdpa::Mask::boolean:
      mask.kind = AttentionMask::Kind::boolean;
      mask.hidden = false;
      break;
    case Sdpa::Mask::additive:
      mask.kind = AttentionMask::Kind::additive;
      break;
  }
  mask.mask = matrix_operand(graph, node.inputs[3], attention.batch);
  return mask;
}

// Which values of the expansion the kernel never rounds.
void declare(Contract& contract, const MatchContext& context, const Node& node,
             const FusedAttention& attention) {
  const auto& op = std::get<Sdpa>(node.op);
  const Dtype dtype = context.graph().type(node.first_output).dtype;
  if (is_16_bit(dtype) && !op.upcast) {
    const bool both = op.scale_on == Sdpa::ScaleOn::both;
    const auto drop = [&](const char* inner) {
      contract.deviations.push_back(
          {Deviation::Kind::drop, node.name + "/" + inner, dtype, 0, "stays in f32 inside the fused kernel"});
    };
    if (both) drop("q_scaled");
    if (both) drop("k_scaled");
    drop("scores");
    if (!both) drop("scaled");
    if (op.softcap != 0) drop("capped");
    if (op.mask == Sdpa::Mask::additive) drop("masked");
  }
  declare_probabilities(contract, attention, context.arithmetic(), node.name + "/p", node.name + "/out");
}

}  // namespace

std::optional<Match> match_composite_sdpa(const MatchContext& context, int n) {
  const Graph& graph = context.graph();
  const Node& node = context.node(n);
  const auto& op = *context.op_as<Sdpa>(n);
  const Shape &q = context.shape(node.inputs[0]), &v = context.shape(node.inputs[2]);
  FusedAttention attention;
  attention.batch = Shape(q.begin(), q.end() - 2);
  attention.queries = q[q.size() - 2];
  attention.depth = q.back();
  attention.keys = v[v.size() - 2];
  attention.width = v.back();
  const int64_t group = op.grouped_heads ? q.end()[-3] / v.end()[-3] : 1;
  const Shape fewer = fewer_heads(attention.batch, group);
  attention.q = matrix_operand(graph, node.inputs[0], attention.batch);
  attention.k = matrix_operand(graph, node.inputs[1], fewer);
  attention.v = matrix_operand(graph, node.inputs[2], fewer);
  const double scale = op.scale != 0 ? op.scale : 1 / std::sqrt(static_cast<double>(attention.depth));
  if (op.scale_on == Sdpa::ScaleOn::both) {
    attention.q_scale = attention.k_scale = AttentionScale{std::sqrt(scale), false, {}};
  } else {
    attention.score_scale = AttentionScale{scale, false, {}};
  }
  attention.softcap = op.softcap;
  attention.mask = mask_of(graph, node, attention);
  if (group > 1) group_heads(attention, group, true, true, context.faults());
  attention.p_dtype = op.upcast ? Dtype::f32 : graph.type(node.first_output).dtype;
  Match found{{n}, {"sdpa"}, {}, SingleNode{}};
  declare(found.contract, context, node, attention);
  found.op = std::move(attention);
  return found;
}

}  // namespace fusesmith::backends

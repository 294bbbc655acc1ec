// The composite op sdpa as one fused attention: all its attribute forms.
#include <cmath>

#include "backends/rewrite/sdpa/sdpa_matcher.h"
#include "oracle/online_softmax.h"

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
  oracle::declare_online_attention(found.contract, node, context.graph().type(node.first_output).dtype,
                                   rescales(attention), context.arithmetic().exp);
  plant_mistakes(attention, context.faults());
  found.op = std::move(attention);
  return found;
}

}  // namespace fusesmith::backends

// The scores of an attention, matched from softmax's input backwards: softcap?(scale?(matmul(q, k^T))).
#pragma once

#include "backends/rewrite/fused_op.h"
#include "backends/rewrite/matching/match_context.h"

namespace fusesmith::backends {

// The scores and how they came to be.
struct AttentionScores {
  std::vector<int> nodes;
  ValueId q = -1, k = -1;
  bool q_transposed = false;  // stored as [depth, queries]
  int64_t k_group = 1;        // so many neighbouring heads of q read one head of k
  std::optional<AttentionScale> q_scale, k_scale, score_scale;
  double softcap = 0;
};

// Whether the value is made from a matmul by scales, caps, masks and casts alone: then it can be no other
// thing than scores, and a matcher that does not take them names the guard.
bool are_scores(const MatchContext& context, ValueId value);

// Refuses where anything but the steps above, in their order, stands between the value and its product.
std::optional<AttentionScores> match_scores(const MatchContext& context, ValueId value);

// The node that makes an inner value; refuses where others may read it.
std::optional<int> take_producer(const MatchContext& context, ValueId value);

// Takes in the nodes that repeat each head of k or v (the axis before the last two) in place, by unsqueeze,
// broadcast_to and reshape; `value` becomes what they repeat. How often; 1 where it is no such thing.
int64_t take_repeated_heads(const MatchContext& context, ValueId& value, std::vector<int>& nodes);

}  // namespace fusesmith::backends

// The parts of an attention, matched from its last product backwards.
#pragma once

#include "backends/rewrite/pattern.h"
#include "backends/rewrite/sdpa/sdpa_scores.h"

namespace fusesmith::backends {

// matmul(dropout?(softmax(mask?(softcap?(scale?(matmul(scale?(q), scale?(k)^T))), ...))), v), where `n` is
// the last matmul; each head of k and v may be repeated for neighbouring heads of q.
std::optional<Match> match_attention(const MatchContext& context, int n);

// The composite op sdpa, whose inner values are named as its expansion names them (graph/expand.h).
std::optional<Match> match_composite_sdpa(const MatchContext& context, int n);

// The input of a softmax over keys: mask?(softcap?(scale?(matmul(scale?(q), scale?(k)^T))), ...).
struct MaskedScores {
  AttentionScores scores;
  AttentionMask mask;  // without strides
  ValueId mask_value = -1, other = -1;
};
// Refuses where anything but these steps, in their order, makes the value.
std::optional<MaskedScores> match_masked(const MatchContext& context, ValueId value);
// What scores say of an attention whose probabilities are `p`; v and `width` are left open. Each head of k
// serves `group` neighbouring heads of `batch`.
FusedAttention attention_of_scores(const MatchContext& context, const MaskedScores& masked, Shape batch,
                                   ValueId p, int64_t group);

// How a value [..., r, c] of any rank is read as a matrix of each element of the batch: its leading axes, and
// r and c of size 1, broadcast. `transposed`: as [..., c, r].
MatrixOperand matrix_operand(const Graph& graph, ValueId value, const Shape& batch, bool transposed = false);

// The batch with its last axis, the heads, divided by `group`.
Shape fewer_heads(Shape batch, int64_t group);
// Splits the heads of q, mask and result into groups, each of which shares a head of k (if `k_shared`, its
// operand has fewer_heads) and of v.
void group_heads(FusedAttention& attention, int64_t group, bool k_shared, bool v_shared,
                 const Faults& faults);

// Injected faults: mistakes in what the kernel is told.
void plant_mistakes(FusedAttention& attention, const Faults& faults);

// How often the kernel may rescale: once for each tile of keys after the first.
double rescales(const FusedAttention& attention);

std::span<const GraphRecipe> sdpa_examples();
std::span<const GraphRecipe> sdpa_near_misses();
std::span<const std::string_view> sdpa_guards();

}  // namespace fusesmith::backends

#include "backends/faults.h"

namespace fusesmith {

#ifdef FUSESMITH_FAULTS

namespace {

constexpr FaultSite kCuda = FaultSite::cuda_fused;

constexpr FaultInfo kFaults[] = {
    {"causal_diagonal_off_by_one", "sdpa",
     "The causal diagonal lies one key too far to the right: a query sees its successor."},
    {"causal_top_left_for_bottom_right", "sdpa",
     "The causal mask starts at the first key where it should end at the last (FlashAttention before "
     "2.1)."},
    {"last_key_tile_not_masked", "sdpa", "The padded keys of the last tile take part with score 0."},
    {"extra_zero_logit", "sdpa", "The sum of exponentials has one more term, of score 0."},
    {"boolean_mask_as_additive", "sdpa", "A boolean mask is added to the scores as 0 or 1."},
    {"mask_batch_index_dropped", "sdpa", "Every batch element reads the mask of the first."},
    {"scale_by_d_not_sqrt_d", "sdpa", "The scores are divided by the head size instead of scaled as asked."},
    {"scale_applied_twice", "sdpa", "The scores are scaled before and after they leave the product."},
    {"no_rescale", "sdpa", "The accumulator keeps its old scale when the running maximum moves."},
    {"running_max_starts_at_zero", "sdpa",
     "The running maximum starts at 0: rows of very negative scores underflow."},
    {"last_query_row_dropped", "sdpa",
     "The last query is not computed when it would stand alone in its tile."},
    {"grouped_heads_by_modulo", "sdpa",
     "Query head h reads head h modulo the number of heads of k and v, where it should divide."},
    {"window_one_too_wide", "sdpa", "A sliding window shows one key too many at its far end."},
    {"softcap_after_mask", "sdpa", "Scores are capped after the mask: hidden keys take part with -cap."},
    {"masked_with_lowest", "sdpa",
     "Hidden scores are the lowest finite number: a row without a key becomes uniform, not NaN."},
    {"scale_by_padded_depth", "sdpa", "The scale is made from the head size padded to a multiple of 16."},
    {"softmax_sum_in_bf16", "sdpa", "The running sum of exponentials is rounded to bf16 at every tile."},
    {"key_permutation_ignored", "sdpa",
     "The matcher takes any permutation of k for a transposition if the sizes fit by accident "
     "(pytorch#191260, pytorch#195320)."},
    {"left_mask_dropped", "sdpa", "An additive mask on the left of the addition is not read."},
    {"bias_wrong_axis", "gemm_bias_act", "A bias vector is added along the rows of a square result."},
    {"k_tail_skipped", "gemm_bias_act", "Terms beyond the last multiple of 8 are left out of the product."},
    {"gelu_tanh_for_erf", "gemm_bias_act", "The epilogue computes gelu by tanh where erf is asked."},
    {"transposed_weight_read_untransposed", "gemm_bias_act",
     "A square transposed weight is read as if it were not transposed."},
    {"sliced_bias_without_offset", "gemm_bias_act",
     "A sliced addend is read from the start of the tensor that it is a slice of."},
    {"split_k_partials_in_bf16", "gemm_bias_act", "Partial sums over parts of K are stored in bf16."},
    {"relu_drops_nan", "gemm_bias_act", "The epilogue's relu makes 0 of NaN."},
    {"match_with_second_consumer", "gemm_bias_act",
     "The matcher forgets other readers of the product; they see the final value."},
    {"batched_weight_index_dropped", "einsum_to_gemm",
     "Every batch element is multiplied by the first one's weight (pytorch#179575 asks)."},
    {"reduction_tail_skipped", "einsum_to_pointwise",
     "Terms beyond the last multiple of 8 are left out of the sum."},
    {"reduction_order_varies", "einsum_to_pointwise",
     "Now and then the terms are added in another order, as by atomics in order of arrival.",
     FaultSite::cpu_fused},
    {"layer_norm_eps_outside_sqrt", "layer_norm_welford",
     "eps is added to the standard deviation instead of the variance."},
    {"layer_norm_unbiased_variance", "layer_norm_welford", "The variance is divided by n - 1."},
    {"layer_norm_moments", "layer_norm_welford",
     "The variance is E[x^2] - E[x]^2, which cancels where the mean is large."},
    {"explicit_cast_skipped", "pointwise_chain",
     "The rounding of an explicit cast is not performed (pytorch#179561)."},
    {"where_branches_swapped", "pointwise_chain", "where takes its second value where the condition holds."},
    {"chain_broadcasts_wrong_axis", "pointwise_chain",
     "A vector is broadcast along the wrong axis of a square tensor."},
    {"chain_tail_block_skipped", "pointwise_chain", "Elements beyond the last full block are not written."},
    {"constant_folded_at_wrong_dtype", "pointwise_chain", "The factor of a scale is folded in bf16."},
    {"chain_gelu_tanh_for_erf", "pointwise_chain", "gelu is computed by tanh where erf is asked."},
    {"sub_taken_as_commutative", "pointwise_chain",
     "A difference whose second operand is computed in the chain has its operands in the wrong order."},
    {"permute_dims_ignored", "permute_folding",
     "Any permute before a product counts as a transpose of the last two axes (pytorch#191260, #195320)."},
    {"permute_of_equal_sizes_dropped", "permute_folding",
     "A permute that leaves the shape as it is, because sizes are equal, is taken for none."},
    {"permute_inverted", "permute_folding",
     "dims are read as where an axis goes instead of where it comes from."},
    {"permute_batch_stride_unpermuted", "permute_folding",
     "Leading axes are read with the strides that they would have without the permute."},
    {"triangle_halves_exchanged", "triangle_multiplication",
     "The left operand reads the second half and the right one the first: i and j change places."},
    {"triangle_first_half_twice", "triangle_multiplication", "Both operands read the first half."},
    {"triangle_outgoing_as_incoming", "triangle_multiplication",
     "The outgoing product of a square tensor is computed as the incoming one."},
    {"triangle_incoming_as_outgoing", "triangle_multiplication",
     "The incoming product of a square tensor is computed as the outgoing one."},
    {"triangle_batch_index_dropped", "triangle_multiplication", "Every batch element reads the first one."},
    {"triangle_upcast_skipped", "triangle_multiplication",
     "The sums of 16-bit halves that were cast to f32 are stored as if they had not been."},
    {"dropout_scale_kept", "dropout_elimination", "The output is still multiplied by 1 / (1 - 0.1)."},
    {"attention_missing_barrier", "sdpa",
     "Threads overwrite a tile of keys or values in shared memory while others still read it.", kCuda},
    {"attention_writes_past_last_row", "sdpa", "The last tile of queries stores all of its rows.", kCuda},
    {"attention_tf32_for_ieee", "sdpa", "f32 queries, keys and values are rounded to tf32 unasked.", kCuda},
    {"attention_stale_shared_tail", "sdpa",
     "Rows of the last key tile beyond the end hold the tile before and take part.", kCuda},
    {"attention_batch_stride_of_k_for_v", "sdpa", "v is read with the batch strides of k.", kCuda},
    {"gemm_missing_barrier", "gemm_bias_act", "No barrier between two uses of the tiles in shared memory.",
     kCuda},
    {"gemm_tf32_for_ieee", "gemm_bias_act", "f32 operands are rounded to tf32 unasked.", kCuda},
    {"gemm_tile_tail_unmasked", "gemm_bias_act", "The last tile stores one row too many.", kCuda},
    {"gemm_output_tail_uninitialised", "gemm_bias_act", "The last column of a partial tile is not stored.",
     kCuda},
    {"reduction_races", "einsum_to_pointwise", "Warps of a block combine their sums without a barrier.",
     kCuda},
    {"welford_warp_tail", "layer_norm_welford", "Lanes past the row's end take part with zeros.", kCuda},
    {"layer_norm_previous_row_statistics", "layer_norm_welford",
     "Rows are normalised with the statistics of the row before.", kCuda},
};

}  // namespace

std::span<const FaultInfo> all_faults() { return kFaults; }
#else
std::span<const FaultInfo> all_faults() { return {}; }
#endif

}  // namespace fusesmith

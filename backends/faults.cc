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
    {"bias_wrong_axis", "gemm_bias_act", "A bias vector is added along the rows of a square result."},
    {"k_tail_skipped", "gemm_bias_act", "Terms beyond the last multiple of 8 are left out of the product."},
    {"gelu_tanh_for_erf", "gemm_bias_act", "The epilogue computes gelu by tanh where erf is asked."},
    {"transposed_weight_read_untransposed", "gemm_bias_act",
     "A square transposed weight is read as if it were not transposed."},
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
    {"residual_added_after_norm", "add_norm",
     "The residual is added to the norm instead of to what is normed."},
    {"add_norm_statistics_of_x", "add_norm", "The statistics are those of x without the residual."},
    {"rms_norm_subtracts_mean", "add_norm", "rms_norm frees its rows of their mean, as layer_norm does."},
    {"add_norm_eps_outside_sqrt", "add_norm", "eps is added to the root instead of under it."},
    {"residual_goes_on_without_addend", "add_norm", "What goes on beside the norm is x, not the sum."},
    {"gate_on_the_left", "gate", "The left factor is activated, wherever the activation stands."},
    {"gate_halves_swapped", "gate", "The activation is taken of the wrong half of a chunk."},
    {"gate_cast_skipped", "gate",
     "The rounding of an explicit cast of the gate is not performed (pytorch#179561)."},
    {"merged_weights_swapped", "merged_qkv", "Weights of equal size are concatenated in the wrong order."},
    {"merged_bias_of_another", "merged_qkv", "The biases of two products of equal size change places."},
    {"merged_offset_in_whole_tiles", "merged_qkv",
     "The last product is cut out at an offset that counts whole tiles of 16 columns."},
    {"explicit_cast_skipped", "pointwise_chain",
     "The rounding of an explicit cast is not performed (pytorch#179561)."},
    {"where_branches_swapped", "pointwise_chain", "where takes its second value where the condition holds."},
    {"chain_broadcasts_wrong_axis", "pointwise_chain",
     "A vector is broadcast along the wrong axis of a square tensor."},
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
    {"relu_drops_nan", "gemm_bias_act", "The epilogue's relu makes 0 of NaN.", kCuda},
    {"welford_warp_tail", "layer_norm_welford", "Lanes past the row's end take part with zeros.", kCuda},
    {"layer_norm_previous_row_statistics", "layer_norm_welford",
     "Rows are normalised with the statistics of the row before.", kCuda},
    {"add_norm_previous_row_statistics", "add_norm",
     "Rows are normalised with the statistics of the row before.", kCuda},
    {"gate_tail_block_skipped", "gate", "Elements beyond the last full block are not written.", kCuda},
    {"merged_bias_uninitialised", "merged_qkv",
     "The columns of a product without a bias add what the workspace held.", kCuda},
    {"chain_tail_block_skipped", "pointwise_chain", "Elements beyond the last full block are not written.",
     kCuda},
};

}  // namespace

std::span<const FaultInfo> all_faults() { return kFaults; }
#else
std::span<const FaultInfo> all_faults() { return {}; }
#endif

}  // namespace fusesmith

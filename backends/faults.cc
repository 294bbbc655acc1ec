#include "backends/faults.h"

namespace fusesmith {

std::span<const FaultInfo> all_faults() {
#ifdef FUSESMITH_FAULTS
  static constexpr FaultInfo kFaults[] = {
      {"causal_diagonal_off_by_one", "sdpa",
       "The causal diagonal lies one key too far to the right: a query sees its successor."},
      {"causal_top_left_for_bottom_right", "sdpa",
       "The causal mask starts at the first key where it should end at the last (FlashAttention before "
       "2.1)."},
      {"last_key_tile_not_masked", "sdpa", "The padded keys of the last tile take part with score 0."},
      {"extra_zero_logit", "sdpa", "The sum of exponentials has one more term, of score 0."},
      {"boolean_mask_as_additive", "sdpa", "A boolean mask is added to the scores as 0 or 1."},
      {"mask_batch_index_dropped", "sdpa", "Every batch element reads the mask of the first."},
      {"scale_by_d_not_sqrt_d", "sdpa",
       "The scores are divided by the head size instead of scaled as asked."},
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
      {"layer_norm_eps_outside_sqrt", "layer_norm_welford",
       "eps is added to the standard deviation instead of the variance."},
      {"layer_norm_unbiased_variance", "layer_norm_welford", "The variance is divided by n - 1."},
      {"layer_norm_moments", "layer_norm_welford",
       "The variance is E[x^2] - E[x]^2, which cancels where the mean is large."},
      {"explicit_cast_skipped", "pointwise_chain",
       "The rounding of an explicit cast is not performed (pytorch#179561)."},
      {"where_branches_swapped", "pointwise_chain",
       "where takes its second value where the condition holds."},
      {"chain_broadcasts_wrong_axis", "pointwise_chain",
       "A vector is broadcast along the wrong axis of a square tensor."},
      {"dropout_scale_kept", "dropout_elimination", "The output is still multiplied by 1 / (1 - 0.1)."},
  };
  return kFaults;
#else
  return {};
#endif
}

}  // namespace fusesmith

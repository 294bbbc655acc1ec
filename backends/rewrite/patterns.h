// One function for each pattern file. patterns.cc defines their order.
#pragma once

#include "backends/rewrite/pattern.h"

namespace fusesmith::backends {

Pattern cache_update_in_place_pattern();
Pattern sdpa_pattern();
Pattern triangle_multiplication_pattern();
Pattern add_norm_pattern();
Pattern gate_pattern();
Pattern gemm_bias_act_pattern();
Pattern merged_qkv_pattern();
Pattern permute_folding_pattern();
Pattern einsum_to_gemm_pattern();
Pattern einsum_to_pointwise_pattern();
Pattern layer_norm_welford_pattern();
Pattern pointwise_chain_pattern();
Pattern dropout_elimination_pattern();

}  // namespace fusesmith::backends

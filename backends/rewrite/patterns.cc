#include "backends/rewrite/patterns.h"

#include <array>

namespace fusesmith::backends {

// Larger patterns come first, because each may contain nodes that a later pattern would claim.
std::span<const Pattern> all_patterns() {
  static const std::array kPatterns = {
      cache_update_in_place_pattern(),    //
      sdpa_pattern(),                     //
      triangle_multiplication_pattern(),  //
      add_norm_pattern(),                 // claims a residual sum before it becomes an epilogue
      gate_pattern(),                     // claims an activation before it becomes an epilogue
      gemm_bias_act_pattern(),            //
      // products without epilogue, before permutes of their results are folded
      merged_qkv_pattern(),
      permute_folding_pattern(),      //
      einsum_to_gemm_pattern(),       //
      einsum_to_pointwise_pattern(),  //
      layer_norm_welford_pattern(),   //
      pointwise_chain_pattern(),      //
      dropout_elimination_pattern(),  //
  };
  return kPatterns;
}

const Pattern* find_pattern(std::string_view name) {
  for (const Pattern& pattern : all_patterns()) {
    if (pattern.name == name) return &pattern;
  }
  return nullptr;
}

}  // namespace fusesmith::backends

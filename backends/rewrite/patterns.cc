#include "backends/rewrite/patterns.h"

#include <array>

namespace fusesmith::backends {

// Larger patterns first: each may hold nodes that a later one would claim.
std::span<const Pattern> all_patterns() {
  static const std::array kPatterns = {
      cache_update_in_place_pattern(),    //
      sdpa_pattern(),                     //
      triangle_multiplication_pattern(),  //
      add_norm_pattern(),                 // takes a residual sum before it becomes an epilogue
      gate_pattern(),                     // and an activation likewise
      gemm_bias_act_pattern(),            //
      merged_qkv_pattern(),               // products without an epilogue, before their results' permutes
      permute_folding_pattern(),          //
      einsum_to_gemm_pattern(),           //
      einsum_to_pointwise_pattern(),      //
      layer_norm_welford_pattern(),       //
      pointwise_chain_pattern(),          //
      dropout_elimination_pattern(),      //
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

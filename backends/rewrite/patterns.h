// One function for each pattern file. patterns.cc defines their order.
#pragma once

#include "backends/rewrite/pattern.h"

namespace fusesmith::backends {

// In the order in which they are tried. Larger patterns first: each may hold nodes that a later one would
// claim.
// clang-format off
#define FUSESMITH_FOR_EACH_PATTERN(X) \
  X(cache_update_in_place) \
  X(sdpa) \
  X(attention_backward) /* before softmax_backward and the products are taken */ \
  X(triangle_multiplication) \
  X(quantize) /* its division and cast before they become a chain */ \
  X(scaled_product) \
  X(dequantized_product) /* before gemm_bias_act takes the product */ \
  X(add_norm) /* takes a residual sum before it becomes an epilogue */ \
  X(norm_backward) /* and the sum of two gradients likewise */ \
  X(gate) /* and an activation likewise */ \
  X(gemm_bias_act) \
  X(merged_qkv) /* products without an epilogue, before their results' permutes */ \
  X(permute_folding) \
  X(einsum_to_gemm) \
  X(einsum_to_pointwise) \
  X(layer_norm_welford) \
  X(log_softmax) \
  X(softmax_backward) \
  X(pointwise_chain) \
  X(dropout_elimination)
// clang-format on

#define FUSESMITH_PATTERN(name) Pattern name##_pattern();
FUSESMITH_FOR_EACH_PATTERN(FUSESMITH_PATTERN)
#undef FUSESMITH_PATTERN

}  // namespace fusesmith::backends

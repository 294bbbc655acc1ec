// The gradients of an attention for q, k and v, in IEEE f32, one rounding at each store. Three kernels: one
// warp for each query computes the logsumexp of its scores and delta = sum p dp; one for each query adds dq
// over keys; one for each key adds dk and dv over queries. The last two compute p and dp again, so that
// nothing of the size of the scores is stored, and no sum depends on the order in which blocks run.
#pragma once

#include "backends/cuda_fused/attention/attention.h"

namespace fusesmith::backends {

struct AttentionBackwardFaults {
  bool without_delta, first_delta, narrow_delta, scaled_dq_alone, scaled_twice, hidden_as_zero, no_diagonal,
      no_maximum, previous_row, no_key_tail, no_query_tail, columns_of_keys, narrow_p, last_queries,
      no_dq_tail;
};

struct AttentionBackwardParams {
  AttentionParams attention;  // without `out`
  AttentionMatrix dy;         // [queries, width]
  AttentionFactor gradient_scale;
  void *dq, *dk, *dv;  // contiguous: [batch, queries, depth], [batch, keys, depth], [batch, keys, width]
  Storage storage;     // of these three
  float *logsumexp, *delta;  // workspace, [batch, queries]
  AttentionBackwardFaults faults;
};

cudaError_t launch_attention_backward(const AttentionBackwardParams& params, cudaStream_t stream);

}  // namespace fusesmith::backends

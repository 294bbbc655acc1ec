// Each lane of a warp computes a score of its own, by a loop over the columns of q and k; the lanes then
// share the columns of a sum.
#include <math_constants.h>

#include "backends/cuda_fused/attention/attention_backward.h"
#include "backends/cuda_fused/attention/attention_scores.cuh"

namespace fusesmith::backends {
namespace {

using namespace device;

constexpr int kLanes = 32, kWarps = 4;                     // of a block
constexpr int kPerLane = 4, kColumns = kLanes * kPerLane;  // of a sum, at a time
constexpr int kFaultyTile = 16;                            // of the injected faults

// What ScoreRules asks: a warp has one query and 32 keys, or one key and 32 queries.
struct LanesAreKeys {
  static constexpr int kScores = 1, kQueries = 1, kKeys = kLanes;
  int lane;
  __device__ int row(int) const { return 0; }
  __device__ int key(int) const { return lane; }
};
struct LanesAreQueries {
  static constexpr int kScores = 1, kQueries = kLanes, kKeys = 1;
  int lane;
  __device__ int row(int) const { return lane; }
  __device__ int key(int) const { return 0; }
};

// A rule of the injected faults: rows or keys of a last tile that is not full.
__device__ bool is_in_tail(int i, int size) { return size > kFaultyTile && i >= size - size % kFaultyTile; }

__device__ float sum_over_warp(float x) {
#pragma unroll
  for (int lanes = kLanes / 2; lanes > 0; lanes /= 2) x += __shfl_xor_sync(kWholeWarp, x, lanes);
  return x;
}
__device__ float maximum_over_warp(float x) {
#pragma unroll
  for (int lanes = kLanes / 2; lanes > 0; lanes /= 2) x = maximum(x, __shfl_xor_sync(kWholeWarp, x, lanes));
  return x;
}

// A score of a lane, and what follows from it.
struct LaneGradient {
  float p = 0, ds = 0;  // ds without the gradient's scale
};

// The attention of one element of the batch.
template <class Place>
class Scores {
 public:
  __device__ Scores(const AttentionBackwardParams& p, int batch, int lane)
      : p_(p),
        a_(p.attention),
        place_{lane},
        starts_(a_, batch),
        rules_(a_, starts_),
        q_scale_(a_.q_scale),
        k_scale_(a_.k_scale),
        first_(batch * a_.queries) {
    for_each_axis(a_.batch, batch, [&](int axis, int i) { dy_start_ += i * p.dy.batch[axis]; });
  }

  // Those that do not exist are -inf.
  __device__ float score(int query, int key) const {
    const int own_query = query + place_.row(0), own_key = key + place_.key(0);
    float s[1] = {0};
    if (own_query < a_.queries && own_key < a_.keys) {
      for (int c = 0; c < a_.depth; ++c)
        s[0] = fmaf(q_scale_(q(own_query, c)), k_scale_(k(own_key, c)), s[0]);
    }
    rules_.apply(place_, query, key, a_.keys - key, s);
    return s[0];
  }

  __device__ float probability(float score, int query, int key, float total) const {
    const bool hidden = score == -CUDART_INF_F;
    const float p = expf((planted(p_.faults.hidden_as_zero) && hidden ? 0.0f : score) - total);
    const bool diagonal = a_.mask_kind == AttentionMaskKind::causal && key == query + a_.band.offset;
    return planted(p_.faults.no_diagonal) && diagonal ? 0.0f : p;
  }

  __device__ float dp(int query, int key) const {
    float sum = 0;
    for (int c = 0; c < a_.width; ++c) sum = fmaf(dy(query, c), v(key, c), sum);
    return sum;
  }

  // Of the lane's query and key; zeros if they do not exist.
  __device__ LaneGradient gradient(int query, int key) const {
    const float s = score(query, key);
    query += place_.row(0);
    key += place_.key(0);
    if (query >= a_.queries || key >= a_.keys) return {};
    const int row = planted(p_.faults.previous_row) ? max(query - 1, 0) : query;
    const float p = probability(s, query, key, p_.logsumexp[first_ + row]);
    float delta = p_.delta[first_ + (planted(p_.faults.first_delta) ? 0 : query)];
    if (planted(p_.faults.without_delta)) delta = 0;
    return {p, p * (dp(query, key) - delta)};
  }

  __device__ float q(int row, int c) const {
    return load_branchless(a_.q, starts_.q + row * a_.q.row + c * a_.q.column);
  }
  __device__ float k(int row, int c) const {
    return load_branchless(a_.k, starts_.k + row * a_.k.row + c * a_.k.column);
  }
  __device__ float v(int row, int c) const {
    return load_branchless(a_.v, starts_.v + row * a_.v.row + c * a_.v.column);
  }
  __device__ float dy(int row, int c) const {
    return load_branchless(p_.dy, dy_start_ + row * p_.dy.row + c * p_.dy.column);
  }

 private:
  const AttentionBackwardParams& p_;
  const AttentionParams& a_;
  Place place_;
  AttentionStarts starts_;
  ScoreRules<Place> rules_;
  Factor q_scale_, k_scale_;
  int first_, dy_start_ = 0;
};

// The row of this warp: an element of the batch, and a query or a key of it. False for warps without one.
__device__ bool own_row(const AttentionParams& a, int rows, int& batch, int& row) {
  const int number = static_cast<int>(blockIdx.x) * kWarps + static_cast<int>(threadIdx.x) / kLanes;
  batch = number / rows;
  row = number - batch * rows;
  return batch < a.batch.count;
}

__global__ void __launch_bounds__(kLanes* kWarps)
    sums_of_queries(const __grid_constant__ AttentionBackwardParams p) {
  const AttentionParams& a = p.attention;
  const int lane = static_cast<int>(threadIdx.x) % kLanes;
  int batch, query;
  if (!own_row(a, a.queries, batch, query)) return;
  const Scores<LanesAreKeys> scores(p, batch, lane);
  float most = -CUDART_INF_F;
  for (int key = 0; key < a.keys; key += kLanes) most = maximum(most, scores.score(query, key));
  most = maximum_over_warp(most);
  float total = most;
  if (isfinite(most)) {
    float sum = 0;
    for (int key = 0; key < a.keys; key += kLanes) {
      const float s = scores.score(query, key);
      if (key + lane < a.keys) sum += expf(s - most);
    }
    total = logf(sum_over_warp(sum)) + (planted(p.faults.no_maximum) ? 0.0f : most);
  }
  float delta = 0;
  for (int key = 0; key < a.keys; key += kLanes) {
    const float s = scores.score(query, key);
    if (key + lane < a.keys)
      delta += scores.probability(s, query, key + lane, total) * scores.dp(query, key + lane);
  }
  delta = sum_over_warp(delta);
  if (lane != 0) return;
  p.logsumexp[batch * a.queries + query] = total;
  p.delta[batch * a.queries + query] =
      planted(p.faults.narrow_delta) ? round_to(Storage::bf16, delta) : delta;
}

__global__ void __launch_bounds__(kLanes* kWarps)
    gradients_of_queries(const __grid_constant__ AttentionBackwardParams p) {
  const AttentionParams& a = p.attention;
  const int lane = static_cast<int>(threadIdx.x) % kLanes;
  int batch, query;
  if (!own_row(a, a.queries, batch, query)) return;
  const Scores<LanesAreKeys> scores(p, batch, lane);
  const Factor scale(p.gradient_scale);
  for (int chunk = 0; chunk < a.depth; chunk += kColumns) {
    float sums[kPerLane] = {};
    for (int key = 0; key < a.keys; key += kLanes) {
      float own = scale(scores.gradient(query, key).ds);
      if (planted(p.faults.scaled_twice)) own = scale(own);
      for (int j = 0; j < min(kLanes, a.keys - key); ++j) {
        const float ds = __shfl_sync(kWholeWarp, own, j);
        if (planted(p.faults.no_key_tail) && is_in_tail(key + j, a.keys)) continue;
#pragma unroll
        for (int i = 0; i < kPerLane; ++i) {
          const int c = chunk + lane + kLanes * i;
          if (c < a.depth) sums[i] = fmaf(ds, scores.k(key + j, c), sums[i]);
        }
      }
    }
    const int columns = planted(p.faults.no_dq_tail) && a.depth > 8 ? a.depth - a.depth % 8 : a.depth;
#pragma unroll
    for (int i = 0; i < kPerLane; ++i) {
      const int c = chunk + lane + kLanes * i;
      if (c < columns) store_float(p.dq, p.storage, (batch * a.queries + query) * a.depth + c, sums[i]);
    }
  }
}

__global__ void __launch_bounds__(kLanes* kWarps)
    gradients_of_keys(const __grid_constant__ AttentionBackwardParams p) {
  const AttentionParams& a = p.attention;
  const int lane = static_cast<int>(threadIdx.x) % kLanes;
  int batch, key;
  if (!own_row(a, a.keys, batch, key)) return;
  const Scores<LanesAreQueries> scores(p, batch, lane);
  const Factor scale(p.gradient_scale);
  for (int chunk = 0; chunk < max(a.depth, a.width); chunk += kColumns) {
    float of_k[kPerLane] = {}, of_v[kPerLane] = {};
    for (int query = 0; query < a.queries; query += kLanes) {
      const LaneGradient own = scores.gradient(query, key);
      const float own_ds = planted(p.faults.scaled_dq_alone) ? own.ds : scale(own.ds);
      const float own_p = planted(p.faults.narrow_p) ? round_to(Storage::bf16, own.p) : own.p;
      for (int i = 0; i < min(kLanes, a.queries - query); ++i) {
        const float ds = __shfl_sync(kWholeWarp, own_ds, i), weight = __shfl_sync(kWholeWarp, own_p, i);
        if (planted(p.faults.no_query_tail) && is_in_tail(query + i, a.queries)) continue;
        const bool restarts = planted(p.faults.last_queries) && (query + i) % kFaultyTile == 0;
#pragma unroll
        for (int j = 0; j < kPerLane; ++j) {
          const int c = chunk + lane + kLanes * j;
          if (restarts) of_k[j] = 0;
          if (c < a.depth) of_k[j] = fmaf(ds, scores.q(query + i, c), of_k[j]);
          if (c < a.width) of_v[j] = fmaf(weight, scores.dy(query + i, c), of_v[j]);
        }
      }
    }
    const int row = batch * a.keys + key;
    const int columns = planted(p.faults.columns_of_keys) ? min(a.width, a.depth) : a.width;
#pragma unroll
    for (int j = 0; j < kPerLane; ++j) {
      const int c = chunk + lane + kLanes * j;
      if (c < a.depth) store_float(p.dk, p.storage, row * a.depth + c, of_k[j]);
      if (c < columns) store_float(p.dv, p.storage, row * a.width + c, of_v[j]);
    }
  }
}

unsigned blocks_of(const AttentionParams& a, int rows) {
  return static_cast<unsigned>((a.batch.count * rows + kWarps - 1) / kWarps);
}

}  // namespace

cudaError_t launch_attention_backward(const AttentionBackwardParams& params, cudaStream_t stream) {
  const AttentionParams& a = params.attention;
  constexpr unsigned kThreads = kLanes * kWarps;
  sums_of_queries<<<blocks_of(a, a.queries), kThreads, 0, stream>>>(params);
  gradients_of_queries<<<blocks_of(a, a.queries), kThreads, 0, stream>>>(params);
  gradients_of_keys<<<blocks_of(a, a.keys), kThreads, 0, stream>>>(params);
  return cudaGetLastError();
}

}  // namespace fusesmith::backends

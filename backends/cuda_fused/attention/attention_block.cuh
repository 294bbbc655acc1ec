// The main loop of a block over the keys, shared by all units that multiply. Only .cu files include this.
//
// Tiles of k and v are prefetched: keys while values are multiplied, values while scores are computed. A Work
// class is the part of one warp: its shape, its products, and the layout of its scores and sums in registers.
#pragma once

#include "backends/cuda_fused/attention/attention_scores.cuh"
#include "backends/cuda_fused/device/tensor_core.cuh"

namespace fusesmith::backends::device {

// T is the element type of the tiles in shared memory.
template <class T, AttentionUnit unit, AttentionTile tile>
struct BlockShape {
  using Element = T;
  static constexpr AttentionShape kShape = attention_shape(unit, tile);
  static constexpr bool kTf32 = unit == AttentionUnit::mma_tf32;
  static constexpr int kHead = kShape.head, kBlocks = kShape.blocks;
  static constexpr int kWarpQueries = kShape.warp_queries, kWarpKeys = kShape.warp_keys,
                       kSplits = kShape.key_warps;
  static constexpr int kQueries = kShape.queries(), kKeys = kShape.keys();
  static_assert(kWarpKeys >= kSmallestKeyTile);
  static constexpr int kPitch = attention_pitch(sizeof(T), kHead);
  static constexpr int kKeyBytes = kKeys * kPitch * sizeof(T);
  static constexpr int kBytes = attention_shared_bytes(unit, tile);  // of shared memory

  __device__ static int first_query() { return threadIdx.x / 32 / kSplits * kWarpQueries; }
  __device__ static int split() { return threadIdx.x / 32 % kSplits; }
};

// The conversion of elements on their way to shared memory: f32 elements are scaled and, if asked for,
// rounded to tf32. Elements that are not rounded are truncated to tf32 by the tensor cores, which the
// contract allows.
template <class Work>
class Loading {
 public:
  using T = typename Work::Element;
  __device__ Loading(const AttentionFactor& factor, bool rounds)
      : factor_(factor), rounds_(Work::kTf32 && (rounds || factor_.scales())) {}
  __device__ bool changes() const { return rounds_ || factor_.scales(); }
  __device__ T operator()(T x) const {
    if constexpr (sizeof(T) != sizeof(float)) {
      return x;
    } else {
      const float scaled = factor_(x);
      return rounds_ ? to_tf32(scaled) : scaled;
    }
  }

 private:
  Factor factor_;
  bool rounds_;
};

// Merges the results of warps that processed the same queries: each is rescaled once more, to the largest
// maximum. `space` is shared memory that is no longer in use.
template <class Work>
__device__ void merge_and_store(const AttentionParams& p, const QueryTile& tile, const Work& work,
                                const RunningSoftmax<Work>& softmax, const float (&sums)[Work::kSums],
                                float* space) {
  constexpr int kHead = Work::kHead, kPitch = kHead + 8, kPart = Work::kQueries * kPitch;
  static_assert(Work::kSplits * kPart * sizeof(float) <= 2 * Work::kKeyBytes);
  float* part = space + Work::split() * kPart;
#pragma unroll
  for (int e = 0; e < Work::kSums; ++e) {
    const bool narrow = planted(p.faults.narrow_partials);
    part[work.sum_row(e) * kPitch + work.sum_column(e)] =
        narrow ? __bfloat162float(__float2bfloat16_rn(sums[e])) : sums[e];
  }
#pragma unroll
  for (int r = 0; r < Work::kRows; ++r) {
    part[work.thread_row(r) * kPitch + kHead] = softmax.maximum(r);
    part[work.thread_row(r) * kPitch + kHead + 1] = softmax.sum(r);
  }
  __syncthreads();
  constexpr int kLanes = kAttentionThreads / Work::kQueries;  // of a row
  const int row = threadIdx.x / kLanes;
  const float *parts = space + row * kPitch,
              *sums_of_row = space + row * (planted(p.faults.unpadded_step) ? p.depth : kPitch);
  float maximum = parts[kHead], total = 0, share[Work::kSplits];
#pragma unroll
  for (int i = 1; i < Work::kSplits; ++i) maximum = fmaxf(maximum, parts[i * kPart + kHead]);
#pragma unroll
  for (int i = 0; i < Work::kSplits; ++i) {
    share[i] = expf(parts[i * kPart + kHead] - softmax_base(maximum));
    const float sum = parts[i * kPart + kHead + 1];
    if (planted(p.faults.unscaled_splits)) share[i] = 1;
    if (planted(p.faults.empty_split_is_nan) && sum == 0) share[i] = NAN;
    total += planted(p.faults.splits_by_maximum) ? share[i] : share[i] * sum;
    if (planted(p.faults.splits_by_maximum)) share[i] /= sum;
    if (planted(p.faults.no_rescale)) share[i] = 1;
  }
  if (planted(p.faults.extra_zero_logit)) total += expf(-maximum);
  QueryTile place = tile;
  if (planted(p.faults.combined_into_first) && p.batch.rank > 0)
    place.batch %= p.batch.count / p.batch.sizes[0];
  for (int column = threadIdx.x % kLanes; column < p.width; column += kLanes) {
    float sum = 0;
#pragma unroll
    for (int i = 0; i < Work::kSplits; ++i) sum += share[i] * sums_of_row[i * kPart + column];
    place.store(p, row, column, sum / total);
  }
}

template <class Work>
__device__ void store_rows(const AttentionParams& p, const QueryTile& tile, const Work& work,
                           const RunningSoftmax<Work>& softmax, const float (&sums)[Work::kSums]) {
  float total[Work::kRows], inverse[Work::kRows];
#pragma unroll
  for (int r = 0; r < Work::kRows; ++r) {
    total[r] = softmax.sum(r);
    if (planted(p.faults.extra_zero_logit)) total[r] += expf(-softmax.maximum(r));
    inverse[r] = 1 / total[r];
  }
#pragma unroll
  for (int e = 0; e < Work::kSums; ++e) {
    const int r = Work::local_sum_row(e);
    tile.store(p, work.sum_row(e), work.sum_column(e), quotient(sums[e], total[r], inverse[r]));
  }
}

template <class Work>
__global__ void __launch_bounds__(kAttentionThreads, Work::kBlocks)
    attention(const __grid_constant__ AttentionParams p) {
  using T = typename Work::Element;
  constexpr int kQueries = Work::kQueries, kKeys = Work::kKeys, kHead = Work::kHead;
  extern __shared__ float4 shared[];
  T* q = reinterpret_cast<T*>(shared);
  T *k = q + kQueries * Work::kPitch, *v = k + kKeys * Work::kPitch;
  const QueryTile tile = QueryTile::of_block<kQueries, Work::kWarpQueries>(p);
  const AttentionStarts starts(p, tile.batch);
  const bool clear = !planted(p.faults.stale_shared_tail), too_early = planted(p.faults.missing_barrier);
  const SharedTile<T, kQueries, kHead> q_tile(q, p.q, true, !too_early);
  const SharedTile<T, kKeys, kHead> k_tile(k, p.k, clear, !too_early), v_tile(v, p.v, clear, !too_early);
  if (p.depth < kHead) {
    q_tile.fill_with_zeros();
    k_tile.fill_with_zeros();
    __syncthreads();
  }
  const Loading<Work> q_loading(p.q_scale, true), k_loading(p.k_scale, false),
      v_loading(AttentionFactor{}, false);
  const auto rows_of = [&](const AttentionMatrix& m, int start, int key, int columns) {
    return MatrixRows{m, start + key * m.row, min(kKeys, p.keys - key), columns};
  };
  const MatrixRows q_rows{p.q, starts.q + tile.first * p.q.row, tile.rows, p.depth};
  const auto fetch_next_keys = [&](int key) {
    if (key + kKeys < p.keys) k_tile.fetch(rows_of(p.k, starts.k, key + kKeys, p.depth), k_loading);
  };
  q_tile.fetch(q_rows, q_loading);
  k_tile.fetch(rows_of(p.k, starts.k, 0, p.depth), k_loading);
  q_tile.settle(q_rows, q_loading);
  const Work work(q, k, v);
  const bool busy = tile.has_rows_from(p, Work::first_query());
  const ScoreRules<Work> rules(p, starts);
  RunningSoftmax<Work> softmax(p);
  float sums[Work::kSums] = {};
  int end = p.keys;
  if (planted(p.faults.early_causal_end) && p.mask_kind == AttentionMaskKind::causal && p.band.causal)
    end = min(end, (max(tile.first + p.band.offset, 0) / kKeys + 1) * kKeys);
  for (int key = 0; key < end; key += kKeys) {
    const MatrixRows v_rows = rows_of(p.v, starts.v, key, p.width);
    float s[Work::kScores];
    k_tile.settle(rows_of(p.k, starts.k, key, p.depth), k_loading);
    __syncthreads();  // the keys have arrived, and the values of the last step have been read
    v_tile.fetch(v_rows, v_loading);
    if (too_early) fetch_next_keys(key);
    if (busy) {
      float shrink[Work::kRows];
      work.multiply_scores(p.depth, s);
      rules.apply(work, tile.first, key, v_rows.rows, s);
      softmax.advance(s, shrink);
      work.keep(p, s);
#pragma unroll
      for (int e = 0; e < Work::kSums; ++e)
        sums[e] = planted(p.faults.no_rescale) ? sums[e] : sums[e] * shrink[Work::local_sum_row(e)];
    }
    v_tile.settle(v_rows, v_loading);
    __syncthreads();  // the values have arrived, and these keys have been read
    if (!too_early) fetch_next_keys(key);
    if (busy) work.add_values(s, p.width, sums);
  }
  if (busy) softmax.finish();
  if constexpr (Work::kSplits > 1) {
    __syncthreads();
    merge_and_store(p, tile, work, softmax, sums, reinterpret_cast<float*>(k));
  } else if (busy) {
    store_rows(p, tile, work, softmax, sums);
  }
}

template <class Work>
cudaError_t launch_attention_as(const AttentionParams& p, cudaStream_t stream) {
  static const cudaError_t allowed =
      cudaFuncSetAttribute(attention<Work>, cudaFuncAttributeMaxDynamicSharedMemorySize, Work::kBytes);
  if (allowed != cudaSuccess) return allowed;
  const int tiles = (p.queries + Work::kQueries - 1) / Work::kQueries;
  const unsigned blocks = static_cast<unsigned>(p.batch.count) * static_cast<unsigned>(tiles);
  attention<Work><<<blocks, kAttentionThreads, Work::kBytes, stream>>>(p);
  return cudaGetLastError();
}

}  // namespace fusesmith::backends::device

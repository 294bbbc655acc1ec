// Fused attention on the tensor cores, f32 accumulators. Each warp takes 16 queries and all keys of a tile;
// the scores' fragments of the first product become the left fragments of the second without leaving
// registers.
#pragma once

#include "backends/cuda_fused/attention_scores.cuh"
#include "backends/cuda_fused/tensor_core.cuh"

namespace fusesmith::device {

// Fragments of 16 queries x 8 keys, four scores of each per thread; g and t as in tensor_core.cuh.
template <int kTileKeys>
struct MmaPlace {
  static constexpr int kKeys = kTileKeys, kRows = 2, kLanes = 4, kScores = kTileKeys / 2;
  int first, g, t;

  __device__ static constexpr int local_row(int e) { return e % 4 / 2; }
  __device__ int row(int e) const { return first + g + 8 * local_row(e); }
  __device__ int key(int e) const { return e / 4 * 8 + 2 * t + e % 2; }
};

template <class T>
constexpr int kGroup = 16 / static_cast<int>(sizeof(T));  // elements in 16 bytes

// s = q k^T. For 16 bytes each, fragments of tf32 and of 16-bit types lie alike.
template <class T, class Place>
__device__ void multiply_scores(const Place& place, const T* q, const T* k, int pitch, int depth, int keys,
                                float (&s)[Place::kScores]) {
  const int lane = threadIdx.x % 32;
  q += (place.first + lane % 16) * pitch + lane / 16 * kGroup<T>;
  k += (lane / 16 * 8 + lane % 8) * pitch + lane / 8 % 2 * kGroup<T>;
#pragma unroll
  for (int e = 0; e < Place::kScores; ++e) s[e] = 0;
#pragma unroll 2
  for (int c = 0; c < depth; c += 2 * kGroup<T>) {
    unsigned a[4], b[4];
    load_matrices(a, q + c);
#pragma unroll
    for (int key = 0; key < Place::kKeys; key += 16) {
      if (key >= keys) continue;
      load_matrices(b, k + key * pitch + c);
      mma<T>(s + key / 2, a, b[0], b[1]);
      mma<T>(s + key / 2 + 4, a, b[2], b[3]);
    }
  }
}

// sums += p v for 16-bit types: steps of 16 keys.
template <class T, int kHead, class Place>
__device__ void add_values(const float (&p)[Place::kScores], const T* v, int keys, int width,
                           float (&sums)[kHead / 2]) {
  constexpr int kPitch = tile_pitch<T>(kHead);
  const int lane = threadIdx.x % 32;
  v += lane % 16 * kPitch + lane / 16 * 8;
#pragma unroll
  for (int key = 0; key < Place::kKeys; key += 16) {
    if (key >= keys) continue;
    const float* x = p + key / 2;
    const unsigned a[4] = {pack<T>(x[0], x[1]), pack<T>(x[2], x[3]), pack<T>(x[4], x[5]),
                           pack<T>(x[6], x[7])};
#pragma unroll
    for (int c = 0; c < kHead; c += 16) {
      if (c >= width) continue;
      unsigned b[4];
      load_matrices_transposed(b, v + key * kPitch + c);
      mma<T>(sums + c / 2, a, b[0], b[1]);
      mma<T>(sums + c / 2 + 4, a, b[2], b[3]);
    }
  }
}

// The same for tf32: steps of 8 keys. A thread holds the scores of keys 2 t and 2 t + 1 where the instruction
// wants t and t + 4; the order of keys is free, so v is read in the same order instead.
template <int kHead, class Place>
__device__ void add_values(const float (&p)[Place::kScores], const float* v, int keys, int width,
                           float (&sums)[kHead / 2]) {
  constexpr int kPitch = tile_pitch<float>(kHead);
  const int lane = threadIdx.x % 32;
  v += lane % 4 * 2 * kPitch + lane / 4;
#pragma unroll
  for (int key = 0; key < Place::kKeys; key += 8) {
    if (key >= keys) continue;
    unsigned a[4];
#pragma unroll
    for (int i = 0; i < 4; ++i) a[i] = __float_as_uint(to_tf32(p[key / 2 + i / 2 + i % 2 * 2]));
#pragma unroll
    for (int c = 0; c < kHead; c += 8) {
      if (c >= width) continue;
      const float* at = v + key * kPitch + c;
      mma<float>(sums + c / 2, a, __float_as_uint(at[0]), __float_as_uint(at[kPitch]));
    }
  }
}

// How elements reach shared memory: 16-bit ones as they are, f32 scaled and as tf32.
template <class T>
struct Loading {
  __device__ explicit Loading(const AttentionFactor&) {}
  __device__ T operator()(T x) const { return x; }
};
template <>
struct Loading<float> {
  Factor factor;
  __device__ explicit Loading(const AttentionFactor& f) : factor(f) {}
  __device__ float operator()(float x) const { return to_tf32(factor(x)); }
};

// Shared memory: q, k and v.
template <class T, int kHead, int kKeys>
constexpr size_t mma_bytes(int depth) {
  return sizeof(T) * static_cast<size_t>((kAttentionQueries + kKeys) * tile_pitch<T>(depth) +
                                         kKeys * tile_pitch<T>(kHead));
}

template <class T, int kHead, int kKeys>
__global__ void __launch_bounds__(kAttentionThreads)
    attention_mma(const __grid_constant__ AttentionParams p) {
  using Place = MmaPlace<kKeys>;
  extern __shared__ float4 shared[];
  const int pitch = tile_pitch<T>(p.depth), depth = padded_columns<T>(p.depth);
  T* q = reinterpret_cast<T*>(shared);
  T *k = q + kAttentionQueries * pitch, *v = k + kKeys * pitch;
  const QueryTile tile(p);
  if (tile.dropped(p)) return;
  const AttentionStarts starts(p, tile.batch);
  const int warp = threadIdx.x / 32, lane = threadIdx.x % 32;
  const Place place{16 * warp, lane / 4, lane % 4};
  const bool busy = tile.has_rows_from(p, 16 * warp);
  const ScoreRules<Place> rules(p, starts);
  RunningSoftmax<Place> softmax(p);
  float sums[kHead / 2] = {};
  load_tile<kAttentionQueries>(q, pitch, {p.q, starts.q + tile.first * p.q.row, tile.rows, p.depth}, true,
                               Loading<T>(p.q_scale));
  const Loading<T> load_k(p.k_scale), load_v(AttentionFactor{});
  const bool clear = !planted(p.faults.stale_shared_tail);
  for (int key = 0; key < p.keys; key += kKeys) {
    const int keys = min(kKeys, p.keys - key), used = clear ? keys : kKeys;
    if (key > 0) barrier_between_uses(p);
    load_tile<kKeys>(k, pitch, {p.k, starts.k + key * p.k.row, keys, p.depth}, clear, load_k);
    load_tile<kKeys>(v, tile_pitch<T>(kHead), {p.v, starts.v + key * p.v.row, keys, p.width}, clear, load_v);
    key > 0 ? barrier_between_uses(p) : __syncthreads();
    if (!busy) continue;
    float s[Place::kScores], shrink[Place::kRows];
    multiply_scores<T>(place, q, k, pitch, depth, used, s);
    rules.apply(place, tile.first, key, keys, s);
    softmax.advance(s, shrink);
#pragma unroll
    for (int e = 0; e < kHead / 2; ++e)
      sums[e] = planted(p.faults.no_rescale) ? sums[e] : sums[e] * shrink[Place::local_row(e)];
    if constexpr (sizeof(T) == 2)
      add_values<T, kHead, Place>(s, v, used, p.width, sums);
    else
      add_values<kHead, Place>(s, v, used, p.width, sums);
  }
  if (!busy) return;
  float total[Place::kRows];
  softmax.finish(p, total);
#pragma unroll
  for (int e = 0; e < kHead / 2; ++e)
    tile.store(p, place.row(e), place.key(e), sums[e] / total[Place::local_row(e)]);
}

template <class T, int kHead, int kKeys>
cudaError_t launch_mma_head(const AttentionParams& p, cudaStream_t stream) {
  static_assert(kKeys >= kSmallestKeyTile);
  const auto kernel = attention_mma<T, kHead, kKeys>;
  static const cudaError_t allowed =
      cudaFuncSetAttribute(kernel, cudaFuncAttributeMaxDynamicSharedMemorySize,
                           static_cast<int>(mma_bytes<T, kHead, kKeys>(kHead)));
  if (allowed != cudaSuccess) return allowed;
  kernel<<<attention_blocks(p), kAttentionThreads, mma_bytes<T, kHead, kKeys>(p.depth), stream>>>(p);
  return cudaGetLastError();
}

// kKeys: of a tile of the larger heads.
template <class T, int kKeys>
cudaError_t launch_mma(const AttentionParams& p, cudaStream_t stream) {
  const int head = p.depth > p.width ? p.depth : p.width;
  if (head <= 64) return launch_mma_head<T, 64, 64>(p, stream);
  if (head <= 128) return launch_mma_head<T, 128, kKeys>(p, stream);
  return launch_mma_head<T, kLargestHead, kKeys>(p, stream);
}

}  // namespace fusesmith::device

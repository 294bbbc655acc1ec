// Fused attention on the tensor cores with f32 accumulators. A warp processes 16 queries; the result
// fragments of the first product become the left fragments of the second without leaving registers.
#pragma once

#include "backends/cuda_fused/attention/attention_block.cuh"

namespace fusesmith::backends::device {

// Scores are held in fragments of 16 queries x 8 keys, sums in fragments of 16 queries x 8 columns, four
// elements of each per thread; g and t are those of tensor_core.cuh. If T is float, the products are tf32.
template <class T, AttentionTile tile>
struct MmaWork : BlockShape<T, sizeof(T) == 4 ? AttentionUnit::mma_tf32 : AttentionUnit::mma_16_bit, tile> {
  using Shape = BlockShape<T, sizeof(T) == 4 ? AttentionUnit::mma_tf32 : AttentionUnit::mma_16_bit, tile>;
  using Shape::kHead, Shape::kPitch, Shape::kWarpKeys;
  static_assert(Shape::kWarpQueries == 16);
  static constexpr int kRows = 2, kLanes = 4, kScores = kWarpKeys / 2, kSums = kHead / 2;
  static constexpr int kGroup = 16 / static_cast<int>(sizeof(T));  // elements in 16 bytes
  static constexpr int kColumns = 64;                              // head columns per step

  int g, t, first, first_key;
  const T *q, *k, *v;

  // q, k and v point to this lane's row of the first fragments.
  __device__ MmaWork(const T* queries, const T* keys, const T* values)
      : g(threadIdx.x % 32 / 4),
        t(threadIdx.x % 4),
        first(Shape::first_query()),
        first_key(Shape::split() * kWarpKeys) {
    const int lane = threadIdx.x % 32;
    q = queries + (first + lane % 16) * kPitch + lane / 16 * kGroup;
    k = keys + (first_key + lane / 16 * 8 + lane % 8) * kPitch + lane / 8 % 2 * kGroup;
    v = values + first_key * kPitch;
    v += sizeof(T) == 2 ? lane % 16 * kPitch + lane / 16 * 8 : t * 2 * kPitch + g;
  }

  __device__ static constexpr int local_row(int e) { return e % 4 / 2; }
  __device__ int thread_row(int r) const { return first + g + 8 * r; }
  __device__ int row(int e) const { return thread_row(local_row(e)); }
  __device__ int key(int e) const { return first_key + sum_column(e); }
  __device__ static constexpr int local_sum_row(int e) { return local_row(e); }
  __device__ int sum_row(int e) const { return row(e); }
  __device__ int sum_column(int e) const { return e / 4 * 8 + 2 * t + e % 2; }

  // s = q k^T. Per 16 bytes, fragments of tf32 and of 16-bit types have the same layout.
  __device__ void multiply_scores(int depth, float (&s)[kScores]) const {
#pragma unroll
    for (float& score : s) score = 0;
    int c = 0;
    do {
#pragma unroll
      for (int step = 0; step < kColumns; step += 2 * kGroup) {
        unsigned a[4], b[4];
        load_matrices(a, q + c + step);
#pragma unroll
        for (int key = 0; key < kWarpKeys; key += 16) {
          load_matrices(b, k + key * kPitch + c + step);
          mma<T>(s + key / 2, a, b[0], b[1]);
          mma<T>(s + key / 2 + 4, a, b[2], b[3]);
        }
      }
      c += kColumns;
    } while (c < kHead && c < depth);
  }

  __device__ void keep(const AttentionParams&, const float (&)[kScores]) const {}

  // sums += p v.
  __device__ void add_values(const float (&p)[kScores], int width, float (&sums)[kSums]) const {
#pragma unroll
    for (int c = 0; c < kHead; c += kColumns) {
      if (c > 0 && c >= width) break;
      add_columns(p, v + c, sums + c / 2);
    }
  }

 private:
  __device__ static void add_columns(const float (&p)[kScores], const T* v, float* sums) {
    if constexpr (sizeof(T) == 2) {
#pragma unroll
      for (int key = 0; key < kWarpKeys; key += 16) {
        const float* x = p + key / 2;
        const unsigned a[4] = {pack<T>(x[0], x[1]), pack<T>(x[2], x[3]), pack<T>(x[4], x[5]),
                               pack<T>(x[6], x[7])};
#pragma unroll
        for (int c = 0; c < kColumns; c += 16) {
          unsigned b[4];
          load_matrices_transposed(b, v + key * kPitch + c);
          mma<T>(sums + c / 2, a, b[0], b[1]);
          mma<T>(sums + c / 2 + 4, a, b[2], b[3]);
        }
      }
    } else {
      // A thread holds the scores of keys 2 t and 2 t + 1, but the instruction expects t and t + 4. The order
      // of keys does not matter, so v is read in that order too.
#pragma unroll
      for (int key = 0; key < kWarpKeys; key += 8) {
        unsigned a[4];
#pragma unroll
        for (int i = 0; i < 4; ++i) a[i] = __float_as_uint(to_tf32(p[key / 2 + i / 2 + i % 2 * 2]));
#pragma unroll
        for (int c = 0; c < kColumns; c += 8) {
          const float* at = v + key * kPitch + c;
          mma<float>(sums + c / 2, a, __float_as_uint(at[0]), __float_as_uint(at[kPitch]));
        }
      }
    }
  }
};

template <class T>
cudaError_t launch_mma(const AttentionParams& params, AttentionTile tile, cudaStream_t stream) {
  using Tile = AttentionTile;
  switch (tile) {
    case Tile::head_64_split:
      return launch_attention_as<MmaWork<T, Tile::head_64_split>>(params, stream);
    case Tile::head_64:
    case Tile::head_64_tall:
      return launch_attention_as<MmaWork<T, Tile::head_64>>(params, stream);
    case Tile::head_128:
      return launch_attention_as<MmaWork<T, Tile::head_128>>(params, stream);
    case Tile::head_256:
      break;
  }
  return launch_attention_as<MmaWork<T, Tile::head_256>>(params, stream);
}

}  // namespace fusesmith::backends::device

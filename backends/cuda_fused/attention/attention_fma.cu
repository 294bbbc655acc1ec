// Fused attention in IEEE f32: any storage, layout and scale. A thread keeps kRows x kPerRow scores in
// registers: those of every fourth query and every eighth key of its warp.
#include "backends/cuda_fused/attention/attention_block.cuh"

namespace fusesmith::backends {
namespace {

using namespace device;

constexpr int kColumns = 8;  // threads per row

template <AttentionTile tile>
struct FmaWork : BlockShape<float, AttentionUnit::fma, tile> {
  using Shape = BlockShape<float, AttentionUnit::fma, tile>;
  using Shape::kHead, Shape::kPitch, Shape::kWarpKeys, Shape::kKeys, Shape::kWarpQueries;
  static constexpr int kPerRow = kWarpKeys / kColumns;  // scores
  static constexpr int kRows = kWarpQueries / 4, kLanes = kColumns, kScores = kRows * kPerRow;
  static constexpr int kPerSum = kHead / kColumns, kSums = kRows * kPerSum;
  static constexpr int kWeightPitch = attention_weight_pitch(kWarpKeys),
                       kWeights = kWarpQueries * kWeightPitch;

  int lane, first, first_key;
  const float *q, *k, *v;  // at this thread's first row, key and column
  float* weights;          // at its first row

  __device__ FmaWork(const float* queries, const float* keys, float* values)
      : lane(threadIdx.x % kColumns),
        first(Shape::first_query() + threadIdx.x % 32 / kColumns),
        first_key(Shape::split() * kWarpKeys),
        q(queries + first * kPitch),
        k(keys + (first_key + lane) * kPitch),
        v(values + first_key * kPitch + 4 * lane),
        weights(values + kKeys * kPitch + threadIdx.x / 32 * kWeights +
                threadIdx.x % 32 / kColumns * kWeightPitch) {}

  __device__ static constexpr int local_row(int e) { return e / kPerRow; }
  __device__ int thread_row(int r) const { return first + 4 * r; }
  __device__ int row(int e) const { return thread_row(local_row(e)); }
  __device__ int key(int e) const { return first_key + lane + kColumns * (e % kPerRow); }
  __device__ static constexpr int local_sum_row(int e) { return e / kPerSum; }
  __device__ int sum_row(int e) const { return thread_row(local_sum_row(e)); }
  // Four neighbouring columns, then the four that are 32 columns further, and so on.
  __device__ int sum_column(int e) const { return e % kPerSum / 4 * 32 + 4 * lane + e % 4; }

  __device__ static float4 four(const float* at) { return *reinterpret_cast<const float4*>(at); }
  __device__ static void add_dot(float& sum, const float4& a, const float4& b) {
    sum = fmaf(a.x, b.x, sum);
    sum = fmaf(a.y, b.y, sum);
    sum = fmaf(a.z, b.z, sum);
    sum = fmaf(a.w, b.w, sum);
  }

  // s = q k^T. Columns past `depth` are zero.
  __device__ void multiply_scores(int depth, float (&s)[kScores]) const {
    constexpr int kStep = kScores > 16 ? 8 : 16;
#pragma unroll
    for (float& score : s) score = 0;
#pragma unroll 1
    for (int from = 0; from < depth; from += kStep) {
#pragma unroll
      for (int c = from; c < from + kStep; c += 4) {
        float4 keys[kPerRow];
#pragma unroll
        for (int j = 0; j < kPerRow; ++j) keys[j] = four(k + j * kColumns * kPitch + c);
#pragma unroll
        for (int i = 0; i < kRows; ++i) {
          const float4 query = four(q + 4 * i * kPitch + c);
#pragma unroll
          for (int j = 0; j < kPerRow; ++j) add_dot(s[i * kPerRow + j], query, keys[j]);
        }
      }
    }
  }

  // Writes the exponentials to shared memory, for the other threads of their rows.
  __device__ void keep(const AttentionParams& p, const float (&s)[kScores]) const {
    __syncwarp();  // those of the last step have been read
#pragma unroll
    for (int e = 0; e < kScores; ++e)
      weights[4 * local_row(e) * kWeightPitch + lane + kColumns * (e % kPerRow)] =
          round_to(p.p_storage, s[e]);
    __syncwarp();
  }

  // sums += p v.
  __device__ void add_values(const float (&)[kScores], int width, float (&sums)[kSums]) const {
#pragma unroll 2
    for (int key = 0; key < kWarpKeys; key += 4) {
      float4 weight[kRows];
#pragma unroll
      for (int i = 0; i < kRows; ++i) weight[i] = four(weights + 4 * i * kWeightPitch + key);
#pragma unroll
      for (int c = 0; c < kHead; c += 32) {
        if (c == 128 && c >= width) break;
        const float* column = v + key * kPitch + c;
        const float4 a = four(column), b = four(column + kPitch), d = four(column + 2 * kPitch),
                     e = four(column + 3 * kPitch);
#pragma unroll
        for (int i = 0; i < kRows; ++i) {
          float* sum = sums + i * kPerSum + c / 8;
          add_dot(sum[0], weight[i], {a.x, b.x, d.x, e.x});
          add_dot(sum[1], weight[i], {a.y, b.y, d.y, e.y});
          add_dot(sum[2], weight[i], {a.z, b.z, d.z, e.z});
          add_dot(sum[3], weight[i], {a.w, b.w, d.w, e.w});
        }
      }
    }
  }
};

}  // namespace

cudaError_t launch_attention_fma(const AttentionParams& params, AttentionTile tile, cudaStream_t stream) {
  using Tile = AttentionTile;
  switch (tile) {
    case Tile::head_64_split:
      return launch_attention_as<FmaWork<Tile::head_64_split>>(params, stream);
    case Tile::head_64:
      return launch_attention_as<FmaWork<Tile::head_64>>(params, stream);
    case Tile::head_64_tall:
      return launch_attention_as<FmaWork<Tile::head_64_tall>>(params, stream);
    case Tile::head_128:
      return launch_attention_as<FmaWork<Tile::head_128>>(params, stream);
    case Tile::head_256:
      break;
  }
  return launch_attention_as<FmaWork<Tile::head_256>>(params, stream);
}

}  // namespace fusesmith::backends

// Fused attention in IEEE f32: any storage, layout and scale. Each warp takes 16 queries and all keys of a
// tile, so that rows of scores never leave it; each thread keeps 8 x 4 (8 x 2 for large heads) of them in
// registers.
#include "backends/cuda_fused/attention_scores.cuh"

namespace fusesmith {
namespace {

using namespace device;

constexpr int kRows = 8;      // of a thread: every other one of its warp's
constexpr int kColumns = 16;  // threads of a row

// Scores (i, j) of a thread: of query first + 2 i and key lane + 16 j.
template <int kTileKeys>
struct FmaPlace {
  static constexpr int kKeys = kTileKeys, kRows = fusesmith::kRows, kLanes = kColumns;
  static constexpr int kPerRow = kTileKeys / kColumns, kScores = kRows * kPerRow;
  int first, lane;

  __device__ static constexpr int local_row(int e) { return e / kPerRow; }
  __device__ int row(int e) const { return first + 2 * (e / kPerRow); }
  __device__ int key(int e) const { return lane + kColumns * (e % kPerRow); }
};

__device__ float4 four(const float* at) { return *reinterpret_cast<const float4*>(at); }

__device__ void add_dot(float& sum, const float4& a, const float4& b) {
  sum = fmaf(a.x, b.x, sum);
  sum = fmaf(a.y, b.y, sum);
  sum = fmaf(a.z, b.z, sum);
  sum = fmaf(a.w, b.w, sum);
}

// s = q k^T. Rows and keys of neighbouring threads are neighbours: their banks differ.
template <class Place>
__device__ void multiply_scores(const Place& place, const float* q, const float* k, int pitch, int depth,
                                float (&s)[Place::kScores]) {
  const float *q_row = q + place.first * pitch, *k_row = k + place.lane * pitch;
#pragma unroll
  for (int e = 0; e < Place::kScores; ++e) s[e] = 0;
#pragma unroll 2
  for (int c = 0; c < depth; c += 4) {
    float4 keys[Place::kPerRow];
#pragma unroll
    for (int j = 0; j < Place::kPerRow; ++j) keys[j] = four(k_row + j * kColumns * pitch + c);
#pragma unroll
    for (int i = 0; i < kRows; ++i) {
      const float4 query = four(q_row + 2 * i * pitch + c);
#pragma unroll
      for (int j = 0; j < Place::kPerRow; ++j) add_dot(s[i * Place::kPerRow + j], query, keys[j]);
    }
  }
}

// sums += p v. This thread's columns are 4 lane + 64 g, four each.
template <int kHead, class Place>
__device__ void add_values(const Place& place, const float* p, const float* v, int keys, int width,
                           float (&sums)[kRows][kHead / kColumns]) {
  constexpr int kPitch = tile_pitch<float>(Place::kKeys);
  for (int key = 0; key < keys; key += 4) {
    float4 weight[kRows];
#pragma unroll
    for (int i = 0; i < kRows; ++i) weight[i] = four(p + (place.first + 2 * i) * kPitch + key);
#pragma unroll
    for (int g = 0; g < kHead / 64; ++g) {
      if (64 * g >= width) continue;
      const float* column = v + key * kHead + 64 * g + 4 * place.lane;
      const float4 a = four(column), b = four(column + kHead), c = four(column + 2 * kHead),
                   d = four(column + 3 * kHead);
#pragma unroll
      for (int i = 0; i < kRows; ++i) {
        float* sum = sums[i] + 4 * g;
        add_dot(sum[0], weight[i], {a.x, b.x, c.x, d.x});
        add_dot(sum[1], weight[i], {a.y, b.y, c.y, d.y});
        add_dot(sum[2], weight[i], {a.z, b.z, c.z, d.z});
        add_dot(sum[3], weight[i], {a.w, b.w, c.w, d.w});
      }
    }
  }
}

// Shared memory, in floats: q, k, v and the exponentials.
template <int kHead, int kKeys>
constexpr int fma_floats(int depth) {
  return (kAttentionQueries + kKeys) * tile_pitch<float>(depth) + kKeys * kHead +
         kAttentionQueries * tile_pitch<float>(kKeys);
}

template <int kHead, int kKeys, int kBlocks>
__global__ void __launch_bounds__(kAttentionThreads, kBlocks)
    attention_fma(const __grid_constant__ AttentionParams p) {
  using Place = FmaPlace<kKeys>;
  extern __shared__ float4 shared[];
  const int pitch = tile_pitch<float>(p.depth), depth = padded_columns<float>(p.depth);
  float* q = reinterpret_cast<float*>(shared);
  float *k = q + kAttentionQueries * pitch, *v = k + kKeys * pitch, *weights = v + kKeys * kHead;
  const QueryTile tile(p);
  if (tile.dropped(p)) return;
  const AttentionStarts starts(p, tile.batch);
  const int warp = threadIdx.x / 32, lane = threadIdx.x % 32;
  const Place place{16 * warp + lane / kColumns, lane % kColumns};
  const bool busy = tile.has_rows_from(p, 16 * warp);
  const ScoreRules<Place> rules(p, starts);
  RunningSoftmax<Place> softmax(p);
  float sums[kRows][kHead / kColumns] = {};
  load_tile<kAttentionQueries>(q, pitch, {p.q, starts.q + tile.first * p.q.row, tile.rows, p.depth}, true,
                               Factor(p.q_scale));
  const Factor k_scale(p.k_scale);
  const bool clear = !planted(p.faults.stale_shared_tail);
  for (int key = 0; key < p.keys; key += kKeys) {
    const int keys = min(kKeys, p.keys - key);
    if (key > 0) barrier_between_uses(p);
    load_tile<kKeys>(k, pitch, {p.k, starts.k + key * p.k.row, keys, p.depth}, clear, k_scale);
    load_tile<kKeys>(v, kHead, {p.v, starts.v + key * p.v.row, keys, p.width}, clear,
                     [](float x) { return x; });
    key > 0 ? barrier_between_uses(p) : __syncthreads();
    if (!busy) continue;
    float s[Place::kScores], shrink[kRows];
    multiply_scores(place, q, k, pitch, depth, s);
    rules.apply(place, tile.first, key, keys, s);
    softmax.advance(s, shrink);
#pragma unroll
    for (int i = 0; i < kRows; ++i) {
#pragma unroll
      for (float& sum : sums[i]) sum = planted(p.faults.no_rescale) ? sum : sum * shrink[i];
    }
    __syncwarp();  // the last tile's exponentials have been read
#pragma unroll
    for (int e = 0; e < Place::kScores; ++e)
      weights[place.row(e) * tile_pitch<float>(kKeys) + place.key(e)] = round_to(p.p_storage, s[e]);
    __syncwarp();
    add_values<kHead>(place, weights, v, clear ? keys : kKeys, p.width, sums);
  }
  if (!busy) return;
  float total[kRows];
  softmax.finish(p, total);
#pragma unroll
  for (int i = 0; i < kRows; ++i) {
#pragma unroll
    for (int c = 0; c < kHead / kColumns; ++c)
      tile.store(p, place.first + 2 * i, c / 4 * 64 + 4 * place.lane + c % 4, sums[i][c] / total[i]);
  }
}

template <int kHead, int kKeys, int kBlocks>
cudaError_t launch(const AttentionParams& p, cudaStream_t stream) {
  static_assert(kKeys >= kSmallestKeyTile);
  const auto kernel = attention_fma<kHead, kKeys, kBlocks>;
  constexpr int kSize = static_cast<int>(sizeof(float));
  static const cudaError_t allowed = cudaFuncSetAttribute(kernel, cudaFuncAttributeMaxDynamicSharedMemorySize,
                                                          fma_floats<kHead, kKeys>(kHead) * kSize);
  if (allowed != cudaSuccess) return allowed;
  const auto bytes = static_cast<size_t>(fma_floats<kHead, kKeys>(p.depth) * kSize);
  kernel<<<attention_blocks(p), kAttentionThreads, bytes, stream>>>(p);
  return cudaGetLastError();
}

}  // namespace

cudaError_t launch_attention_fma(const AttentionParams& params, cudaStream_t stream) {
  const int head = params.depth > params.width ? params.depth : params.width;
  if (head <= 64) return launch<64, 64, 3>(params, stream);
  if (head <= 128) return launch<128, 32, 2>(params, stream);
  return launch<kLargestHead, 32, 1>(params, stream);
}

}  // namespace fusesmith

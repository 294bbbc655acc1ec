// A warp for each row of up to 1024 columns, 4 or 8 for a longer one.
#include "backends/cuda/device_math.cuh"
#include "backends/cuda_fused/planted.cuh"
#include "backends/cuda_fused/welford.h"

namespace fusesmith {
namespace {

using device::planted;

constexpr int kWarp = 32;
constexpr int kBlockWarps = 4;  // where a warp takes a row
constexpr int kChains = 4;
constexpr int kLaneColumns = 32;  // of a row that a lane keeps in registers

// Of `count` elements: their mean, and the sum of their squared distances from it. Of a row of equal
// elements: exactly that element, and 0.
struct Statistics {
  float count = 0, mean = 0, squares = 0;

  // `inverse` is 1 / (count + 1). Planted: the sum and the sum of squares instead.
  __device__ void add(float x, float inverse, bool moments) {
    count += 1;
    if (moments) {
      mean += x;
      squares += x * x;
      return;
    }
    const float before = x - mean;
    mean += before * inverse;
    squares += before * (x - mean);
  }

  // Lanes fill from the first on, so that nothing is ever merged into empty statistics. kEven: both have seen
  // equally many.
  template <bool kEven>
  __device__ void merge(const Statistics& other, bool moments) {
    if (!kEven && other.count == 0) return;
    const float total = count + other.count;
    if (moments) {
      mean += other.mean;
      squares += other.squares;
    } else {
      const float distance = other.mean - mean, share = kEven ? 0.5f : other.count / total;
      mean += distance * share;
      squares += other.squares + distance * distance * (count * share);
    }
    count = total;
  }
};

// Parts i and i + n / 2 into i, then quarters, ...
template <bool kEven, int n>
__device__ Statistics merge_all(Statistics (&parts)[n], bool moments) {
#pragma unroll
  for (int width = n / 2; width > 0; width /= 2) {
#pragma unroll
    for (int i = 0; i < width; ++i) parts[i].template merge<kEven>(parts[i + width], moments);
  }
  return parts[0];
}

// Lane l + 16 into l, l + 8 into l, ...; every lane gets the result of the first.
template <bool kEven>
__device__ Statistics merge_over_warp(Statistics s, bool moments) {
  constexpr unsigned kAll = 0xffffffffu;
#pragma unroll
  for (int distance = kWarp / 2; distance > 0; distance /= 2) {
    Statistics other;
    other.count = kEven ? s.count : __shfl_down_sync(kAll, s.count, distance);
    other.mean = __shfl_down_sync(kAll, s.mean, distance);
    other.squares = __shfl_down_sync(kAll, s.squares, distance);
    s.merge<kEven>(other, moments);
  }
  if (!kEven) s.count = __shfl_sync(kAll, s.count, 0);
  s.mean = __shfl_sync(kAll, s.mean, 0);
  s.squares = __shfl_sync(kAll, s.squares, 0);
  return s;
}

template <bool kEven, int kWarps>
__device__ Statistics merge_over_row(Statistics s, bool moments) {
  s = merge_over_warp<kEven>(s, moments);
  if constexpr (kWarps > 1) {
    __shared__ Statistics warps[kWarps];  // written once in a kernel
    if (threadIdx.x % kWarp == 0) warps[threadIdx.x / kWarp] = s;
    __syncthreads();
    Statistics parts[kWarps];
#pragma unroll
    for (int i = 0; i < kWarps; ++i) parts[i] = warps[i];
    s = merge_all<kEven>(parts, moments);
  }
  return s;
}

template <class T>
struct alignas(16) Piece {
  static constexpr int kSize = 16 / static_cast<int>(sizeof(T));
  T at[kSize];

  __device__ float operator[](int j) const { return device::to_float(at[j]); }
};

// Columns [column, column + kSize) of a row; zeros past the end. Whole pieces are aligned.
template <class T>
__device__ Piece<T> load(const T* row, int column, int columns) {
  Piece<T> piece = {};
  if (columns % Piece<T>::kSize == 0) {
    if (column < columns) piece = *reinterpret_cast<const Piece<T>*>(row + column);
    return piece;
  }
#pragma unroll
  for (int j = 0; j < Piece<T>::kSize; ++j) {
    if (column + j < columns) piece.at[j] = row[column + j];
  }
  return piece;
}

template <class T>
__device__ void store(T* row, int column, int columns, const Piece<T>& piece) {
  if (columns % Piece<T>::kSize == 0) {
    *reinterpret_cast<Piece<T>*>(row + column) = piece;
    return;
  }
#pragma unroll
  for (int j = 0; j < Piece<T>::kSize; ++j) {
    if (column + j < columns) row[column + j] = piece.at[j];
  }
}

// What one lane sees of a row: pieces lane, lane + kLanes, ..., the first kKept of them in registers.
template <class T, int kWarps>
struct LaneOfRow {
  static constexpr int kPiece = Piece<T>::kSize, kKept = kLaneColumns / kPiece;
  static constexpr int kStep = kWarps * kWarp * kPiece;
  static constexpr bool kLongest = kWarps == 8;  // rows have no largest size
  const int columns, first;
  Piece<T> kept[kKept];

  __device__ LaneOfRow(int row_columns, int lane) : columns(row_columns), first(lane * kPiece) {}

  __device__ void read(const T* row) {
#pragma unroll
    for (int i = 0; i < kKept; ++i) {
      if (i * kStep >= columns) break;
      kept[i] = load(row, first + i * kStep, columns);
    }
  }

  // Calls visit(piece number, column, piece) for every piece that starts before `end`.
  template <class F>
  __device__ void each_piece(const T* row, int end, F visit) const {
#pragma unroll
    for (int i = 0; i < kKept; ++i) {
      if (first + i * kStep >= end) return;
      visit(i, first + i * kStep, kept[i]);
    }
    if constexpr (kLongest) {
      for (int i = kKept; first + i * kStep < end; ++i)
        visit(i, first + i * kStep, load(row, first + i * kStep, columns));
    }
  }

  // Of the whole row. Several lanes in one: every kChains-th column of a lane has statistics of its own.
  template <bool kEven>
  __device__ Statistics statistics(const T* row, const WelfordFaults& faults) const {
    const bool moments = planted(faults.moments);
    int end = columns;
    if (planted(faults.warp_tail)) end = (end + kStep - 1) / kStep * kStep;
    Statistics parts[kChains];
    each_piece(row, end, [&](int i, int column, const Piece<T>& piece) {
#pragma unroll
      for (int j = 0; j < kPiece; ++j) {
        const float inverse = 1.0f / static_cast<float>(i * (kPiece / kChains) + j / kChains + 1);
        if (kEven || column + j < end) parts[j % kChains].add(piece[j], inverse, moments);
      }
    });
    return merge_over_row<kEven, kWarps>(merge_all<kEven>(parts, moments), moments);
  }
};

struct Normal {
  float mean, scale;
};

__device__ Normal normal_of(Statistics s, const WelfordParams& p) {
  if (planted(p.faults.moments)) {
    s.mean /= s.count;
    s.squares = fmaxf(0, s.squares / s.count - s.mean * s.mean) * s.count;
  }
  const bool unbiased = planted(p.faults.unbiased_variance) && s.count > 1;
  const float variance = s.squares / (unbiased ? s.count - 1 : s.count);
  if (planted(p.faults.eps_outside_sqrt)) return {s.mean, 1.0f / (sqrtf(variance) + p.eps)};
  return {s.mean, device::reciprocal_sqrt(variance + p.eps)};
}

template <class T, int kWarps>
__global__ void __launch_bounds__(kWarps == 1 ? kWarp * kBlockWarps : kWarp * kWarps, kWarps <= 4 ? 9 : 3)
    welford(const __grid_constant__ WelfordParams p) {
  constexpr int kLanes = kWarp * kWarps;
  const int row = static_cast<int>(blockIdx.x * (blockDim.x / kLanes) + threadIdx.x / kLanes);
  if (row >= p.rows) return;  // whole warps where a warp takes a row, never where a block does
  const T* x = static_cast<const T*>(p.x) + row * p.columns;
  LaneOfRow<T, kWarps> lane(p.columns, static_cast<int>(threadIdx.x) % kLanes);
  const bool previous = planted(p.faults.previous_row) && row > 0;
  const T* measured = previous ? x - p.columns : x;
  lane.read(measured);
  const bool even = p.columns % lane.kStep == 0;  // every lane sees as much as every other
  const Statistics s = even ? lane.template statistics<true>(measured, p.faults)
                            : lane.template statistics<false>(measured, p.faults);
  Normal normal = normal_of(s, p);
  const bool first = threadIdx.x % kLanes == 0;
  normal.mean = shown(p.mean, row, normal.mean, first);
  normal.scale = shown(p.rstd, row, normal.scale, first);
  if (previous) lane.read(x);
  T* out = static_cast<T*>(p.out) + row * p.columns;
  lane.each_piece(x, p.columns, [&](int, int column, const Piece<T>& from) {
    Piece<T> weight, bias, y;
    if (p.weight) weight = load(static_cast<const T*>(p.weight), column, p.columns);
    if (p.bias) bias = load(static_cast<const T*>(p.bias), column, p.columns);
#pragma unroll
    for (int j = 0; j < Piece<T>::kSize; ++j) {
      float value = (from[j] - normal.mean) * normal.scale;
      if (p.weight) value *= weight[j];
      if (p.bias) value += bias[j];
      y.at[j] = device::from_float<T>(value);
    }
    store(out, column, p.columns, y);
  });
}

template <class T, int kWarps>
cudaError_t launch_rows(const WelfordParams& p, cudaStream_t stream) {
  constexpr int kRows = kWarps == 1 ? kBlockWarps : 1;  // of a block
  welford<T, kWarps><<<(p.rows + kRows - 1) / kRows, kWarp * kWarps * kRows, 0, stream>>>(p);
  return cudaGetLastError();
}

template <class T>
cudaError_t launch(const WelfordParams& p, cudaStream_t stream) {
  constexpr int kWarpColumns = kWarp * kLaneColumns;
  if (p.columns <= kWarpColumns) return launch_rows<T, 1>(p, stream);
  if (p.columns <= 4 * kWarpColumns) return launch_rows<T, 4>(p, stream);
  return launch_rows<T, 8>(p, stream);
}

}  // namespace

cudaError_t launch_welford(const WelfordParams& params, cudaStream_t stream) {
  switch (params.storage) {
    case Storage::f32:
      return launch<float>(params, stream);
    case Storage::f16:
      return launch<__half>(params, stream);
    case Storage::bf16:
      return launch<__nv_bfloat16>(params, stream);
    default:
      return cudaErrorInvalidValue;
  }
}

}  // namespace fusesmith

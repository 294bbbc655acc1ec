// A warp for each row of up to 1024 columns, a block for each longer one.
#include "backends/cuda/device_math.cuh"
#include "backends/cuda_fused/planted.cuh"
#include "backends/cuda_fused/welford.h"

namespace fusesmith {
namespace {

using device::planted;

constexpr int kWarp = 32;
constexpr int kRowsPerBlock = 4;    // where a warp takes a row
constexpr int kLongRowLanes = 256;  // where a block does
constexpr int kPiece = 4;           // neighbouring columns that a lane reads at once
constexpr int kKept = 8;            // pieces of the row that a lane keeps in registers
constexpr int kShortRow = kWarp * kPiece * kKept;

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

  // Lanes fill from the first on, so that nothing is ever merged into empty statistics.
  __device__ void merge(const Statistics& other, bool moments) {
    if (other.count == 0) return;
    const float total = count + other.count;
    if (moments) {
      mean += other.mean;
      squares += other.squares;
    } else {
      const float distance = other.mean - mean, share = other.count / total;
      mean += distance * share;
      squares += other.squares + distance * distance * (count * share);
    }
    count = total;
  }
};

// Lane l + 16 into l, l + 8 into l, ...; every lane gets the result of the first.
__device__ Statistics merge_over_warp(Statistics s, bool moments) {
  constexpr unsigned kAll = 0xffffffffu;
  for (int distance = kWarp / 2; distance > 0; distance /= 2) {
    Statistics other;
    other.count = __shfl_down_sync(kAll, s.count, distance);
    other.mean = __shfl_down_sync(kAll, s.mean, distance);
    other.squares = __shfl_down_sync(kAll, s.squares, distance);
    s.merge(other, moments);
  }
  s.count = __shfl_sync(kAll, s.count, 0);
  s.mean = __shfl_sync(kAll, s.mean, 0);
  s.squares = __shfl_sync(kAll, s.squares, 0);
  return s;
}

template <int kLanes>
__device__ Statistics merge_over_row(Statistics s, bool moments) {
  s = merge_over_warp(s, moments);
  if constexpr (kLanes > kWarp) {
    constexpr int kWarps = kLanes / kWarp;
    __shared__ Statistics warps[kWarps];  // written once in a kernel
    const int lane = static_cast<int>(threadIdx.x) % kWarp;
    if (lane == 0) warps[threadIdx.x / kWarp] = s;
    __syncthreads();
    s = merge_over_warp(lane < kWarps ? warps[lane] : Statistics(), moments);
  }
  return s;
}

template <class T>
struct alignas(kPiece * sizeof(T)) Piece {
  T at[kPiece];
};

// Columns [column, column + kPiece) of a row; zeros past the end. Whole pieces are aligned.
template <class T>
__device__ void load(const T* row, int column, const WelfordParams& p, float (&x)[kPiece]) {
  Piece<T> piece;
  const bool whole = p.columns % kPiece == 0;
  if (whole && column < p.columns) piece = *reinterpret_cast<const Piece<T>*>(row + column);
#pragma unroll
  for (int j = 0; j < kPiece; ++j) {
    if (!whole && column + j < p.columns) piece.at[j] = row[column + j];
    x[j] = column + j < p.columns ? device::to_float(piece.at[j]) : 0.0f;
  }
}

template <class T>
__device__ void store(T* row, int column, const WelfordParams& p, const float (&y)[kPiece]) {
  Piece<T> piece;
#pragma unroll
  for (int j = 0; j < kPiece; ++j) piece.at[j] = device::from_float<T>(y[j]);
  if (p.columns % kPiece == 0) {
    *reinterpret_cast<Piece<T>*>(row + column) = piece;
    return;
  }
#pragma unroll
  for (int j = 0; j < kPiece; ++j) {
    if (column + j < p.columns) row[column + j] = piece.at[j];
  }
}

// What one lane sees of a row: pieces lane, lane + kLanes, ..., the first kKept of them in registers.
template <class T, int kLanes>
struct LaneOfRow {
  static constexpr int kStep = kLanes * kPiece;
  const WelfordParams& p;
  int first;  // column
  float kept[kKept][kPiece];

  __device__ LaneOfRow(const WelfordParams& params, int lane) : p(params), first(lane * kPiece) {}

  __device__ void read(const T* row) {
#pragma unroll
    for (int i = 0; i < kKept; ++i) {
      if (i * kStep >= p.columns) break;
      load(row, first + i * kStep, p, kept[i]);
    }
  }

  // Calls visit(piece number, column, elements) for every piece that starts before `end`.
  template <class F>
  __device__ void each_piece(const T* row, int end, F visit) {
#pragma unroll
    for (int i = 0; i < kKept; ++i) {
      if (first + i * kStep >= end) return;
      visit(i, first + i * kStep, kept[i]);
    }
    if constexpr (kLanes > kWarp) {
      for (int i = kKept; first + i * kStep < end; ++i) {
        float x[kPiece];
        load(row, first + i * kStep, p, x);
        visit(i, first + i * kStep, x);
      }
    }
  }

  // Four lanes in one: the j-th columns of pieces have statistics of their own.
  __device__ Statistics statistics(const T* row) {
    const bool moments = planted(p.faults.moments);
    int end = p.columns;
    if (planted(p.faults.warp_tail)) end = (end + kStep - 1) / kStep * kStep;
    Statistics part[kPiece];
    each_piece(row, end, [&](int i, int column, const float(&x)[kPiece]) {
      const float inverse = 1.0f / static_cast<float>(i + 1);
#pragma unroll
      for (int j = 0; j < kPiece; ++j) {
        if (column + j < end) part[j].add(x[j], inverse, moments);
      }
    });
#pragma unroll
    for (int width = kPiece / 2; width > 0; width /= 2) {
#pragma unroll
      for (int j = 0; j < width; ++j) part[j].merge(part[j + width], moments);
    }
    return part[0];
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

template <class T, int kLanes>
__global__ void welford(const __grid_constant__ WelfordParams p) {
  const int row = static_cast<int>(blockIdx.x * (blockDim.x / kLanes) + threadIdx.x / kLanes);
  if (row >= p.rows) return;  // whole warps where a warp takes a row, never where a block does
  const T* x = static_cast<const T*>(p.x) + row * p.columns;
  LaneOfRow<T, kLanes> lane(p, static_cast<int>(threadIdx.x) % kLanes);
  const bool previous = planted(p.faults.previous_row) && row > 0;
  const T* measured = previous ? x - p.columns : x;
  lane.read(measured);
  const Statistics s = merge_over_row<kLanes>(lane.statistics(measured), planted(p.faults.moments));
  const Normal normal = normal_of(s, p);
  if (previous) lane.read(x);
  T* out = static_cast<T*>(p.out) + row * p.columns;
  lane.each_piece(x, p.columns, [&](int, int column, const float(&from)[kPiece]) {
    float y[kPiece], weight[kPiece], bias[kPiece];
    if (p.weight) load(static_cast<const T*>(p.weight), column, p, weight);
    if (p.bias) load(static_cast<const T*>(p.bias), column, p, bias);
#pragma unroll
    for (int j = 0; j < kPiece; ++j) {
      y[j] = (from[j] - normal.mean) * normal.scale;
      if (p.weight) y[j] *= weight[j];
      if (p.bias) y[j] += bias[j];
    }
    store(out, column, p, y);
  });
}

template <class T>
cudaError_t launch(const WelfordParams& p, cudaStream_t stream) {
  if (p.columns <= kShortRow) {
    const unsigned blocks = static_cast<unsigned>((p.rows + kRowsPerBlock - 1) / kRowsPerBlock);
    welford<T, kWarp><<<blocks, kWarp * kRowsPerBlock, 0, stream>>>(p);
  } else {
    welford<T, kLongRowLanes><<<static_cast<unsigned>(p.rows), kLongRowLanes, 0, stream>>>(p);
  }
  return cudaGetLastError();
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

// What the kernels that normalise rows share: Welford's statistics, merged pairwise in a fixed order, and how
// the lanes of one or several warps read a row. Only .cu files include this.
#pragma once

#include "backends/cuda/kernels/row_reduce.cuh"
#include "backends/cuda_fused/device/pieces.cuh"

namespace fusesmith::backends::device {

inline constexpr int kBlockWarps = 4;  // where a warp takes a row
inline constexpr int kChains = 4;
inline constexpr int kLaneColumns = 32;  // of a row that a lane keeps in registers

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

// A row as it stands in memory.
template <class T>
struct StoredRow {
  using Elements = Piece<T>;
  const T* at;
  int columns;

  __device__ Elements piece(int column) const { return load(at, column, columns); }
};

// What one lane sees of a row: pieces lane, lane + kLanes, ..., the first kKept of them in registers.
template <class Row, int kWarps>
struct LaneOfRow {
  using Elements = typename Row::Elements;
  static constexpr int kPiece = Elements::kSize, kKept = kLaneColumns / kPiece;
  static constexpr int kStep = kWarps * kWarp * kPiece;
  static constexpr bool kLongest = kWarps == 8;  // rows have no largest size
  const int columns, first;
  Elements kept[kKept];

  __device__ LaneOfRow(int row_columns, int lane) : columns(row_columns), first(lane * kPiece) {}

  __device__ void read(const Row& row) {
#pragma unroll
    for (int i = 0; i < kKept; ++i) {
      if (i * kStep >= columns) break;
      kept[i] = row.piece(first + i * kStep);
    }
  }

  // Calls visit(piece number, column, piece) for every piece that starts before `end`.
  template <class F>
  __device__ void each_piece(const Row& row, int end, F visit) const {
#pragma unroll
    for (int i = 0; i < kKept; ++i) {
      if (first + i * kStep >= end) return;
      visit(i, first + i * kStep, kept[i]);
    }
    if constexpr (kLongest) {
      for (int i = kKept; first + i * kStep < end; ++i)
        visit(i, first + i * kStep, row.piece(first + i * kStep));
    }
  }

  // Of the columns up to `end`. Several lanes in one: every kChains-th column of a lane has statistics of its
  // own.
  template <bool kEven>
  __device__ Statistics statistics(const Row& row, int end, bool moments = false) const {
    Statistics parts[kChains];
    each_piece(row, end, [&](int i, int column, const Elements& piece) {
#pragma unroll
      for (int j = 0; j < kPiece; ++j) {
        const float inverse = 1.0f / static_cast<float>(i * (kPiece / kChains) + j / kChains + 1);
        if (kEven || column + j < end) parts[j % kChains].add(piece[j], inverse, moments);
      }
    });
    return merge_over_row<kEven, kWarps>(merge_all<kEven>(parts, moments), moments);
  }
};

// Every lane of the row's warps gets the sum of all their values.
template <int kWarps>
__device__ float sum_over_row(float x) {
  x = over_warp(x, Add{});
  if constexpr (kWarps > 1) {
    __shared__ float warps[kWarps];  // written once in a kernel
    if (threadIdx.x % kWarp == 0) warps[threadIdx.x / kWarp] = x;
    __syncthreads();
    x = 0;
#pragma unroll
    for (int i = 0; i < kWarps; ++i) x += warps[i];
  }
  return x;
}

// Calls launch(blocks, threads, std::integral_constant of the warps that share a row): one up to 1024
// columns, 4 or 8 beyond.
template <class F>
void for_normed_rows(int rows, int columns, F launch) {
  constexpr int kWarpColumns = kWarp * kLaneColumns;
  const auto with_warps = [&](auto warps) {
    constexpr int kWarps = decltype(warps)::value, kRows = kWarps == 1 ? kBlockWarps : 1;  // of a block
    launch(static_cast<unsigned>((rows + kRows - 1) / kRows), unsigned{kWarp * kWarps * kRows}, warps);
  };
  if (columns <= kWarpColumns)
    with_warps(std::integral_constant<int, 1>{});
  else if (columns <= 4 * kWarpColumns)
    with_warps(std::integral_constant<int, 4>{});
  else
    with_warps(std::integral_constant<int, 8>{});
}

}  // namespace fusesmith::backends::device

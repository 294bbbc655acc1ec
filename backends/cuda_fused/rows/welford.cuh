// Shared by the kernels that normalise rows: Welford's statistics, merged pairwise in a fixed order, how the
// lanes of one or several warps read a row, and the affine part. Only .cu files include this.
#pragma once

#include "backends/cuda/kernels/row_reduce.cuh"
#include "backends/cuda_fused/device/pieces.cuh"

namespace fusesmith::backends::device {

inline constexpr int kBlockWarps = 4;  // warps of a block in which each warp has its own row
inline constexpr int kChains = 4;
inline constexpr int kLaneColumns = 32;  // columns of a row that a lane keeps in registers

// The mean of `count` elements and the sum of their squared distances from it. For equal elements the mean is
// exactly that element and the sum is 0.
struct Statistics {
  float count = 0, mean = 0, squares = 0;

  // `inverse` is 1 / (count + 1). Fault: the sum and the sum of squares instead.
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

  // Lanes are filled from the first on, so that nothing is merged into empty statistics. kEven: both have the
  // same count.
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

// Merges part i + n / 2 into part i, then i + n / 4 into i, and so on.
template <bool kEven, int n>
__device__ Statistics merge_all(Statistics (&parts)[n], bool moments) {
#pragma unroll
  for (int width = n / 2; width > 0; width /= 2) {
#pragma unroll
    for (int i = 0; i < width; ++i) parts[i].template merge<kEven>(parts[i + width], moments);
  }
  return parts[0];
}

// Merges lane l + 16 into l, then l + 8 into l, and so on; every lane gets the result of the first.
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

// A row in memory.
template <class T>
struct StoredRow {
  using Elements = Piece<T>;
  const T* at;
  int columns;

  __device__ Elements piece(int column) const { return load(at, column, columns); }
};

// The part of a row that one lane processes: pieces lane, lane + kLanes, ...; the first kKept of them are
// kept in registers.
template <class Row, int kWarps>
struct LaneOfRow {
  using Elements = typename Row::Elements;
  static constexpr int kPiece = Elements::kSize, kKept = kLaneColumns / kPiece;
  static constexpr int kStep = kWarps * kWarp * kPiece;
  static constexpr bool kLongest = kWarps == 8;  // rows of any length
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

  // The statistics of the columns up to `end`. Each lane has kChains independent chains, of every kChains-th
  // column.
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

struct Normal {
  float mean, scale;
};

// Elements of a row, from `column` on: (x - mean) scale, then weight and bias of their columns where there
// are any.
template <class T, class Elements>
__device__ void normalize(const Elements& x, const Normal& normal, const void* weights, const void* biases,
                          int column, int columns, float (&y)[Elements::kSize]) {
  Piece<T> weight, bias;
  if (weights) weight = load(static_cast<const T*>(weights), column, columns);
  if (biases) bias = load(static_cast<const T*>(biases), column, columns);
#pragma unroll
  for (int j = 0; j < Elements::kSize; ++j) {
    y[j] = (x[j] - normal.mean) * normal.scale;
    if (weights) y[j] *= weight[j];
    if (biases) y[j] += bias[j];
  }
}

template <class T>
__device__ void store_rounded(T* row, int column, int columns, const float (&values)[Piece<T>::kSize]) {
  Piece<T> piece;
#pragma unroll
  for (int j = 0; j < Piece<T>::kSize; ++j) piece.at[j] = from_float<T>(values[j]);
  store(row, column, columns, piece);
}

// `combine` of x over all lanes of the row's warps; every lane gets it.
template <int kWarps, class F>
__device__ float combined_over_row(float x, F combine) {
  x = over_warp(x, combine);
  if constexpr (kWarps > 1) {
    __shared__ float warps[kWarps];  // written once in a kernel for each F
    if (threadIdx.x % kWarp == 0) warps[threadIdx.x / kWarp] = x;
    __syncthreads();
    x = warps[0];
#pragma unroll
    for (int i = 1; i < kWarps; ++i) x = combine(x, warps[i]);
  }
  return x;
}

// Calls launch(T{}, blocks, threads, std::integral_constant of the warps per row). T is the element type;
// rows of up to 1024 columns have one warp, longer ones 4 or 8.
template <class T, class F>
void for_normed_rows_of(int rows, int columns, F launch) {
  constexpr int kWarpColumns = kWarp * kLaneColumns;
  const auto with_warps = [&](auto warps) {
    constexpr int kWarps = decltype(warps)::value, kRows = kWarps == 1 ? kBlockWarps : 1;  // of a block
    launch(T{}, static_cast<unsigned>((rows + kRows - 1) / kRows), unsigned{kWarp * kWarps * kRows}, warps);
  };
  if (columns <= kWarpColumns)
    with_warps(std::integral_constant<int, 1>{});
  else if (columns <= 4 * kWarpColumns)
    with_warps(std::integral_constant<int, 4>{});
  else
    with_warps(std::integral_constant<int, 8>{});
}

template <class F>
cudaError_t for_normed_rows(Storage storage, int rows, int columns, F launch) {
  switch (storage) {
    case Storage::f32:
      for_normed_rows_of<float>(rows, columns, launch);
      break;
    case Storage::f16:
      for_normed_rows_of<__half>(rows, columns, launch);
      break;
    case Storage::bf16:
      for_normed_rows_of<__nv_bfloat16>(rows, columns, launch);
      break;
    default:
      return cudaErrorInvalidValue;
  }
  return cudaGetLastError();
}

}  // namespace fusesmith::backends::device

// dx: one warp for each row of up to 1024 columns, 4 or 8 warps for longer rows, as in welford.cu. The sums
// over rows: a block for 32 columns and a group of rows, whose 32 warps take every 32nd row of the group.
#include "backends/cuda_fused/device/planted.cuh"
#include "backends/cuda_fused/rows/norm_backward.h"
#include "backends/cuda_fused/rows/row_pair.cuh"

namespace fusesmith::backends {
namespace {

using namespace device;

constexpr int kFewRows = 1024, kGroups = 16;  // of more rows

struct Normaliser {
  float mean, power, scale;  // power: of layer_norm the variance + eps, of rms_norm mean(x^2) + eps
};

template <class T, int kWarps>
__device__ Normaliser normaliser(const LaneOfRow<RowPair<T>, kWarps>& lane, const RowPair<T>& row,
                                 float width, const NormBackwardParams& p) {
  using Elements = typename RowPair<T>::Elements;
  const auto x = [](const Elements& piece, int j, int) { return piece.second[j]; };
  const float mean = p.centred ? sum_over_row<0>(lane, row, p.columns, x) / width : 0.0f;
  const auto square = [&](const Elements& piece, int j, int) {
    const float distance = piece.second[j] - mean;
    return distance * distance;
  };
  const float power = sum_over_row<1>(lane, row, p.columns, square) / width;
  if (planted(p.faults.eps_outside_sqrt)) return {mean, power, 1.0f / (sqrtf(power) + p.eps)};
  return {mean, power + p.eps, reciprocal_sqrt(power + p.eps)};
}

template <class T, int kWarps>
__global__ void __launch_bounds__(kWarps == 1 ? kWarp * kBlockWarps : kWarp * kWarps, kWarps <= 4 ? 3 : 1)
    gradient_of_rows(const __grid_constant__ NormBackwardParams p) {
  using Elements = typename RowPair<T>::Elements;
  constexpr int kLanes = kWarp * kWarps;
  const int number = static_cast<int>(blockIdx.x * (blockDim.x / kLanes) + threadIdx.x / kLanes);
  if (number >= p.rows) return;  // whole warps of short rows; never a part of a long row's block
  const int first = number * p.columns;
  const RowPair<T> row{static_cast<const T*>(p.dy) + first, static_cast<const T*>(p.x) + first, p.columns};
  RowPair<T> measured = row;
  if (planted(p.faults.previous_row) && number > 0) measured.second -= p.columns;
  const float width =
      static_cast<float>(planted(p.faults.padded_width) ? (p.columns + 7) / 8 * 8 : p.columns);
  LaneOfRow<RowPair<T>, kWarps> lane(p.columns, static_cast<int>(threadIdx.x) % kLanes);
  lane.read(measured);
  const Normaliser normal = normaliser<T, kWarps>(lane, measured, width, p);
  if (measured.second != row.second) lane.read(row);
  if (threadIdx.x % kLanes == 0) {
    p.mean[number] = normal.mean;
    p.rstd[number] = normal.scale;
  }
  const T* const weights = static_cast<const T*>(p.weight);
  const auto weighted = [&](const Elements& piece, int j, int column) {
    return planted(p.faults.no_weight) ? piece.first[j] : piece.first[j] * to_float(weights[column]);
  };
  const auto along = [&](const Elements& piece, int j) {
    return p.centred ? (piece.second[j] - normal.mean) * normal.scale : piece.second[j];
  };
  const int end = planted(p.faults.tailless) && p.columns > 8 ? p.columns - p.columns % 8 : p.columns;
  const auto product = [&](const Elements& piece, int j, int column) {
    return weighted(piece, j, column) * along(piece, j);
  };
  float projection = sum_over_row<2>(lane, row, end, product) / width;
  if (!p.centred) projection /= normal.power;
  if (planted(p.faults.no_scale)) projection = 0;
  float mean = 0;
  if (p.centred ? !planted(p.faults.no_mean) : planted(p.faults.mean_in_rms))
    mean = sum_over_row<3>(lane, row, end, weighted) / width;
  const T* addend = static_cast<const T*>(p.addend);
  if (planted(p.faults.no_addend)) addend = nullptr;
  if (addend && !planted(p.faults.first_addend)) addend += first;
  lane.each_piece(row, p.columns, [&](int, int column, const Elements& from) {
    Piece<T> other = {};
    if (addend) other = load(addend, column, p.columns);
    float dx[Elements::kSize] = {};
#pragma unroll
    for (int j = 0; j < Elements::kSize; ++j) {
      if (column + j >= p.columns) break;
      dx[j] = normal.scale * (weighted(from, j, column + j) - mean - along(from, j) * projection);
      if (addend) dx[j] += other[j];
    }
    store_rounded(static_cast<T*>(p.dx) + first, column, p.columns, dx);
  });
}

template <class T>
struct Sums {
  float of_weight = 0, of_bias = 0;

  __device__ void add(const NormBackwardParams& p, int row, int column) {
    const int at = row * p.columns + column;
    const float dy = to_float(static_cast<const T*>(p.dy)[at]);
    const float weighted = dy * to_float(static_cast<const T*>(p.weight)[column]);
    const float distance = to_float(static_cast<const T*>(p.x)[at]) - p.mean[row];
    const float normalised = planted(p.faults.not_normalised) ? distance : distance * p.rstd[row];
    of_weight += (planted(p.faults.weighted_weight) ? weighted : dy) * normalised;
    of_bias += planted(p.faults.weighted_bias) ? weighted : dy;
  }
};

__device__ int summed_rows(const NormBackwardParams& p) {
  int rows = p.rows;
  if (planted(p.faults.first_axis)) rows = min(rows, p.first_axis);
  return planted(p.faults.last_rows) && rows > 4 ? rows - rows % 4 : rows;
}

template <class T>
__device__ void store_sums(const NormBackwardParams& p, int column, float of_weight, float of_bias) {
  static_cast<T*>(p.dweight)[column] = from_float<T>(of_weight);
  if (p.dbias) static_cast<T*>(p.dbias)[column] = from_float<T>(of_bias);
}

template <class T>
__global__ void __launch_bounds__(kWarp* kWarp, 2)
    sums_over_rows(const __grid_constant__ NormBackwardParams p) {
  __shared__ float of_weight[kWarp][kWarp], of_bias[kWarp][kWarp];
  const int lane = static_cast<int>(threadIdx.x), warp = static_cast<int>(threadIdx.y);
  const int column = static_cast<int>(blockIdx.x) * kWarp + lane, group = static_cast<int>(blockIdx.y);
  Sums<T> sums;
  const int rows = summed_rows(p);
  if (column < p.columns) {
    for (int row = group * kWarp + warp; row < rows; row += kWarp * p.groups) sums.add(p, row, column);
  }
  if (planted(p.faults.in_bf16)) {
    sums.of_weight = round_to(Storage::bf16, sums.of_weight);
    sums.of_bias = round_to(Storage::bf16, sums.of_bias);
  }
  of_weight[warp][lane] = sums.of_weight;
  of_bias[warp][lane] = sums.of_bias;
  __syncthreads();
  for (int half = kWarp / 2; half > 0; half /= 2) {
    if (warp < half && !planted(p.faults.overwritten)) {
      of_weight[warp][lane] += of_weight[warp + half][lane];
      of_bias[warp][lane] += of_bias[warp + half][lane];
    }
    __syncthreads();
  }
  if (warp != 0 || column >= p.columns) return;
  const int last_warp = max(0, min(kWarp, rows - group * kWarp) - 1);  // with a row
  const int kept = planted(p.faults.overwritten) ? last_warp : 0;
  float whole = of_weight[kept][lane], whole_bias = of_bias[kept][lane];
  if (p.groups > 1) {
    p.parts[group * p.columns + column] = whole;
    p.parts[(p.groups + group) * p.columns + column] = whole_bias;
    return;
  }
  if (planted(p.faults.part_of_no_rows)) whole += p.parts[2 * p.groups * p.columns + column];
  store_sums<T>(p, column, whole, whole_bias);
}

__device__ float merged(const NormBackwardParams& p, const float* parts, int column) {
  float part[kGroups];
#pragma unroll
  for (int i = 0; i < kGroups; ++i) part[i] = parts[i * p.columns + column];
#pragma unroll
  for (int half = kGroups / 2; half > 0; half /= 2) {
#pragma unroll
    for (int i = 0; i < half; ++i) part[i] += part[i + half];
  }
  return part[0];
}

template <class T>
__global__ void merge_groups(const __grid_constant__ NormBackwardParams p) {
  const int column = static_cast<int>(blockIdx.x * blockDim.x + threadIdx.x);
  if (column >= p.columns) return;
  float of_weight = merged(p, p.parts, column);
  if (planted(p.faults.part_of_no_rows)) of_weight += p.parts[2 * p.groups * p.columns + column];
  store_sums<T>(p, column, of_weight, merged(p, p.parts + p.groups * p.columns, column));
}

template <class T>
void launch_sums(const NormBackwardParams& p, cudaStream_t stream) {
  const dim3 blocks(static_cast<unsigned>((p.columns + kWarp - 1) / kWarp), static_cast<unsigned>(p.groups));
  sums_over_rows<T><<<blocks, dim3(kWarp, kWarp), 0, stream>>>(p);
  if (p.groups == 1) return;
  constexpr unsigned kThreads = 128;
  merge_groups<T><<<(static_cast<unsigned>(p.columns) + kThreads - 1) / kThreads, kThreads, 0, stream>>>(p);
}

}  // namespace

int row_groups(int rows) { return rows <= kFewRows ? 1 : kGroups; }

cudaError_t launch_norm_backward(const NormBackwardParams& params, cudaStream_t stream) {
  return for_normed_rows(params.storage, params.rows, params.columns,
                         [&](auto element, unsigned blocks, unsigned threads, auto warps) {
                           using T = decltype(element);
                           gradient_of_rows<T, decltype(warps)::value>
                               <<<blocks, threads, 0, stream>>>(params);
                           launch_sums<T>(params, stream);
                         });
}

}  // namespace fusesmith::backends

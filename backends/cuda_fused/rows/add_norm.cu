// One warp for each row of up to 1024 columns, 4 or 8 warps for longer rows, as in welford.cu.
#include "backends/cuda_fused/device/planted.cuh"
#include "backends/cuda_fused/rows/add_norm.h"
#include "backends/cuda_fused/rows/welford.cuh"

namespace fusesmith::backends {
namespace {

using namespace device;

// A row of x + addend in f32; without an addend (a fault) x alone.
template <class T>
struct SummedRow {
  struct Elements {
    static constexpr int kSize = Piece<T>::kSize;
    float at[kSize];

    __device__ float operator[](int j) const { return at[j]; }
  };
  const T *x, *addend;
  int columns;

  __device__ Elements piece(int column) const {
    const Piece<T> own = load(x, column, columns);
    Piece<T> other = {};
    if (addend) other = load(addend, column, columns);
    Elements sum;
#pragma unroll
    for (int j = 0; j < Elements::kSize; ++j) sum.at[j] = addend ? own[j] + other[j] : own[j];
    return sum;
  }
};

template <class Row, int kWarps>
__device__ Normal normal_of(const LaneOfRow<Row, kWarps>& lane, const Row& row, const AddNormParams& p) {
  Normal normal{0, 1};
  float power;
  if (p.centred || planted(p.faults.subtracts_mean)) {
    const bool even = p.columns % lane.kStep == 0;  // all lanes have the same number of elements
    const Statistics s = even ? lane.template statistics<true>(row, p.columns)
                              : lane.template statistics<false>(row, p.columns);
    normal.mean = s.mean;
    power = s.squares / s.count;
  } else {
    float parts[kChains] = {};
    lane.each_piece(row, p.columns, [&](int, int, const typename Row::Elements& piece) {
#pragma unroll
      for (int j = 0; j < Row::Elements::kSize; ++j) parts[j % kChains] += piece[j] * piece[j];
    });
    power = combined_over_row<kWarps>((parts[0] + parts[1]) + (parts[2] + parts[3]), Add{}) /
            static_cast<float>(p.columns);
  }
  normal.scale =
      planted(p.faults.eps_outside_sqrt) ? 1.0f / (sqrtf(power) + p.eps) : reciprocal_sqrt(power + p.eps);
  return normal;
}

template <class T, int kWarps>
__global__ void __launch_bounds__(kWarps == 1 ? kWarp * kBlockWarps : kWarp * kWarps, kWarps <= 4 ? 7 : 2)
    add_norm(const __grid_constant__ AddNormParams p) {
  using Elements = typename SummedRow<T>::Elements;
  constexpr int kLanes = kWarp * kWarps;
  const int number = static_cast<int>(blockIdx.x * (blockDim.x / kLanes) + threadIdx.x / kLanes);
  if (number >= p.rows) return;  // whole warps of short rows; never a part of a long row's block
  const int first = number * p.columns;
  const T *x = static_cast<const T*>(p.x) + first, *addend = static_cast<const T*>(p.addend) + first;
  const bool after = planted(p.faults.added_after);
  const SummedRow<T> row{x, after ? nullptr : addend, p.columns};
  SummedRow<T> measured = row;
  if (planted(p.faults.statistics_of_x)) measured.addend = nullptr;
  if (planted(p.faults.previous_row) && number > 0) {
    measured.x -= p.columns;
    if (measured.addend) measured.addend -= p.columns;
  }
  LaneOfRow<SummedRow<T>, kWarps> lane(p.columns, static_cast<int>(threadIdx.x) % kLanes);
  lane.read(measured);
  Normal normal = normal_of(lane, measured, p);
  const bool shows = threadIdx.x % kLanes == 0;
  normal.mean = shown(p.mean, number, normal.mean, shows);
  normal.scale = shown(p.rstd, number, normal.scale, shows);
  if (measured.x != row.x || measured.addend != row.addend) lane.read(row);
  T* out = static_cast<T*>(p.out) + first;
  lane.each_piece(row, p.columns, [&](int, int column, const Elements& from) {
    if (p.sum) {
      Elements kept = from;
      if (after) kept = SummedRow<T>{x, addend, p.columns}.piece(column);
      if (planted(p.faults.kept_without_addend)) kept = SummedRow<T>{x, nullptr, p.columns}.piece(column);
      store_rounded(static_cast<T*>(p.sum) + first, column, p.columns, kept.at);
    }
    float y[Elements::kSize];
    normalize<T>(from, normal, p.weight, p.bias, column, p.columns, y);
    if (after) {
      const Elements residual = SummedRow<T>{addend, nullptr, p.columns}.piece(column);
      for (int j = 0; j < Elements::kSize; ++j) y[j] += residual[j];
    }
    store_rounded(out, column, p.columns, y);
  });
}

}  // namespace

cudaError_t launch_add_norm(const AddNormParams& params, cudaStream_t stream) {
  return for_normed_rows(params.storage, params.rows, params.columns,
                         [&](auto element, unsigned blocks, unsigned threads, auto warps) {
                           add_norm<decltype(element), decltype(warps)::value>
                               <<<blocks, threads, 0, stream>>>(params);
                         });
}

}  // namespace fusesmith::backends

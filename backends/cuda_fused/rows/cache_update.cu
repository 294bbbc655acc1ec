// A line consists of the elements at one position in every slice of a run. A block owns whole lines, so that
// only its own threads read what it overwrites. In each round they read some slices, wait for each other, and
// write them.
#include "backends/cuda/kernels/elements.cuh"
#include "backends/cuda_fused/device/planted.cuh"
#include "backends/cuda_fused/rows/cache_update.h"

namespace fusesmith::backends {
namespace {

using device::planted;

constexpr int kLines = 32;  // lines per block: a warp reads neighbouring elements
constexpr int kWarps = 8;   // slices per round

// No slice of a round is written before the barrier, and none is read after it. The next round reads other
// slices than this one writes, so that one barrier per round is enough.
template <class T>
__global__ void __launch_bounds__(kLines* kWarps) shift_slices(const __grid_constant__ SliceShift shift) {
  const CacheShape& shape = shift.shape;
  const int line = static_cast<int>(blockIdx.x) * kLines + static_cast<int>(threadIdx.x);
  const bool exists = line < shape.outer * shape.inner;
  const int run = line / shape.inner, place = line - run * shape.inner;
  T* const start =
      static_cast<T*>(shift.cache) + static_cast<int64_t>(run) * shape.size * shape.inner + place;
  const bool first_first = shift.from > shift.to;
  // Injected fault: each warp goes through slices of its own.
  const bool races = planted(shift.races);
  const int share = (shift.count + kWarps - 1) / kWarps, warp = static_cast<int>(threadIdx.y);
  for (int round = 0; round < share; ++round) {
    const int k = races ? warp * share + round : round * kWarps + warp;
    const bool moves = exists && k < shift.count;
    const int64_t slice = first_first ? k : shift.count - 1 - k;
    T element{};
    if (moves) element = start[(shift.from + slice) * shape.inner];
    if (!races) __syncthreads();
    if (moves) start[(shift.to + slice) * shape.inner] = element;
  }
}

template <class T>
__global__ void __launch_bounds__(device::kElementThreads)
    write_rows(const __grid_constant__ RowWrite write) {
  const CacheShape& shape = write.shape;
  const int i = device::element_index();
  if (i >= shape.outer * write.count * shape.inner) return;
  const int row = i / shape.inner, run = row / write.count, number = row - run * write.count;
  int slice = write.indices != nullptr ? write.indices[number] : write.first + number;
  if (planted(write.early) && slice > 0) --slice;
  if (planted(write.clamps) && slice > shape.size - 2) slice = shape.size > 1 ? shape.size - 2 : 0;
  const int64_t to = (static_cast<int64_t>(run) * shape.size + slice) * shape.inner + (i - row * shape.inner);
  static_cast<T*>(write.cache)[to] = static_cast<const T*>(write.rows)[i];
}

}  // namespace

cudaError_t launch_slice_shift(const SliceShift& shift, cudaStream_t stream) {
  const int lines = shift.shape.outer * shift.shape.inner;
  const unsigned blocks = static_cast<unsigned>((lines + kLines - 1) / kLines);
  return device::with_element(shift.shape.element_bytes, [&](auto element) {
    shift_slices<decltype(element)><<<blocks, dim3(kLines, kWarps), 0, stream>>>(shift);
  });
}

cudaError_t launch_row_write(const RowWrite& write, cudaStream_t stream) {
  const unsigned blocks = device::element_blocks(write.shape.outer * write.count * write.shape.inner);
  return device::with_element(write.shape.element_bytes, [&](auto element) {
    write_rows<decltype(element)><<<blocks, device::kElementThreads, 0, stream>>>(write);
  });
}

}  // namespace fusesmith::backends

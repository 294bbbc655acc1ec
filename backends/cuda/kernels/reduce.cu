// One warp per result of few elements, one block per result of many. The order of sums depends only on the
// number of elements.
#include "backends/cuda/kernels/device_math.cuh"
#include "backends/cuda/kernels/index_space.cuh"
#include "backends/cuda/kernels/reduce.h"
#include "backends/cuda/kernels/row_reduce.cuh"

namespace fusesmith::backends {
namespace {

using namespace device;

struct Max {
  __device__ float operator()(float a, float b) const { return maximum(a, b); }
};

__device__ int offset(const IndexSpace& space, const int (&strides)[kMaxAxes], int i) {
  int at = 0;
  for_each_axis(space, i, [&](int axis, int coordinate) { at += coordinate * strides[axis]; });
  return at;
}

template <int kWarps>
__global__ void reduce_rows(const __grid_constant__ Reduction r) {
  const RowThread<kWarps> thread;
  if (thread.row >= r.kept.count) return;  // whole warps of short rows; never a part of a long row's block
  const int first = offset(r.kept, r.kept_strides, thread.row);
  // Combines f(element) over all elements, starting from `start`.
  const auto over_all = [&](float start, auto combine, auto f) {
    for (int i = thread.lane; i < r.reduced.count; i += thread.kLanes) {
      const float x = load_float(r.x, r.storage, first + offset(r.reduced, r.reduced_strides, i));
      start = combine(start, f(x));
    }
    return over_row<kWarps>(start, combine);
  };
  const auto itself = [](float x) { return x; };
  float y = 0, mean = 0;
  if (r.reducer == Reducer::max)
    y = over_all(-INFINITY, Max{}, itself);
  else
    y = over_all(0, Add{}, itself);
  if (r.reducer == Reducer::mean || r.reducer == Reducer::var_mean)
    y = mean = y / static_cast<float>(r.reduced.count);
  if (r.reducer == Reducer::var_mean)
    y = over_all(0, Add{}, [&](float x) { return (x - mean) * (x - mean); }) / r.divisor;
  if (thread.lane != 0) return;
  store_float(r.y, r.storage, thread.row, y);
  if (r.reducer == Reducer::var_mean) store_float(r.means, r.storage, thread.row, mean);
}

}  // namespace

cudaError_t launch_reduce(const Reduction& reduction, cudaStream_t stream) {
  for_rows(reduction.kept.count, reduction.reduced.count, [&](unsigned blocks, unsigned threads, auto warps) {
    reduce_rows<decltype(warps)::value><<<blocks, threads, 0, stream>>>(reduction);
  });
  return cudaGetLastError();
}

}  // namespace fusesmith::backends

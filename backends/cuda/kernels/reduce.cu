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

// Combines f(element) over all elements of the thread's row, starting from `start`.
template <int kWarps, class Combine, class F>
__device__ float over_all(const Reduction& r, const RowThread<kWarps>& thread, int first, float start,
                          Combine combine, F f) {
  for (int i = thread.lane; i < r.reduced.count; i += thread.kLanes) {
    const float x = load_float(r.x, r.storage, first + offset(r.reduced, r.reduced_strides, i));
    start = combine(start, f(x));
  }
  return over_row<kWarps>(start, combine);
}

template <int kWarps>
__device__ float run_pass(const Reduction& r, const RowThread<kWarps>& thread, int first, ReducePass pass,
                          float earlier) {
  switch (pass) {
    case ReducePass::max:
      return over_all(r, thread, first, -INFINITY, Max{}, [](float x) { return x; });
    case ReducePass::squared_distances:
      return over_all(r, thread, first, 0, Add{}, [=](float x) { return (x - earlier) * (x - earlier); });
    case ReducePass::exponentials:
      return over_all(r, thread, first, 0, Add{}, [=](float x) { return expf(x - earlier); });
    default:
      return over_all(r, thread, first, 0, Add{}, [](float x) { return x; });
  }
}

template <int kWarps>
__global__ void reduce_rows(const __grid_constant__ Reduction r) {
  const RowThread<kWarps> thread;
  if (thread.row >= r.kept.count) return;  // whole warps of short rows; never a part of a long row's block
  const int first = offset(r.kept, r.kept_strides, thread.row);
  const float earlier = run_pass<kWarps>(r, thread, first, r.passes[0], 0) / r.divisors[0];
  float y = earlier;
  if (r.passes[1] != ReducePass::none)
    y = run_pass<kWarps>(r, thread, first, r.passes[1], earlier) / r.divisors[1];
  if (r.finish == ReduceFinish::log_plus_first) y = isfinite(earlier) ? logf(y) + earlier : earlier;
  if (thread.lane != 0) return;
  store_float(r.y, r.storage, thread.row, y);
  if (r.first != nullptr) store_float(r.first, r.storage, thread.row, earlier);
}

}  // namespace

cudaError_t launch_reduce(const Reduction& reduction, cudaStream_t stream) {
  for_rows(reduction.kept.count, reduction.reduced.count, [&](unsigned blocks, unsigned threads, auto warps) {
    reduce_rows<decltype(warps)::value><<<blocks, threads, 0, stream>>>(reduction);
  });
  return cudaGetLastError();
}

}  // namespace fusesmith::backends

// One thread per pair, or element that is not rotated.
#include "backends/cuda/kernels/device_math.cuh"
#include "backends/cuda/kernels/elements.cuh"
#include "backends/cuda/kernels/index_space.cuh"
#include "backends/cuda/kernels/rope.h"

namespace fusesmith::backends {
namespace {

using namespace device;

__global__ void rotate_pairs(const __grid_constant__ Rotation r) {
  const int i = element_index();
  if (i >= r.steps.count) return;
  const int steps = r.width - r.half, row = i / steps * r.width, step = i % steps;
  if (step >= r.half) {
    const int at = row + r.half + step;
    store_float(r.y, r.storage, at, load_float(r.x, r.storage, at));
    return;
  }
  int cos_at = 0, sin_at = 0;
  for_each_axis(r.steps, i, [&](int axis, int at) {
    cos_at += at * r.cos_strides[axis];
    sin_at += at * r.sin_strides[axis];
  });
  const int first = row + (r.interleaved ? 2 * step : step), second = first + (r.interleaved ? 1 : r.half);
  const float a = load_float(r.x, r.storage, first), b = load_float(r.x, r.storage, second);
  const float c = load_float(r.cos, r.storage, cos_at), s = load_float(r.sin, r.storage, sin_at);
  store_float(r.y, r.storage, first, a * c - b * s);
  store_float(r.y, r.storage, second, b * c + a * s);
}

}  // namespace

cudaError_t launch_rope(const Rotation& rotation, cudaStream_t stream) {
  rotate_pairs<<<element_blocks(rotation.steps.count), kElementThreads, 0, stream>>>(rotation);
  return cudaGetLastError();
}

}  // namespace fusesmith::backends

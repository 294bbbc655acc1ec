// Select and source kernels: one thread per element written.
#include "backends/cuda/kernels/elements.cuh"
#include "backends/cuda/kernels/index_space.cuh"
#include "backends/cuda/kernels/select.h"

namespace fusesmith::backends {
namespace {

using namespace device;

template <class T>
__global__ void select_elements(const __grid_constant__ Selection selection) {
  const int i = element_index();
  if (i >= selection.space.count) return;
  int condition = 0, chosen = 0, other = 0;
  for_each_axis(selection.space, i, [&](int axis, int at) {
    condition += at * selection.condition.strides[axis];
    chosen += at * selection.chosen.strides[axis];
    other += at * selection.other.strides[axis];
  });
  const bool holds = static_cast<const uint8_t*>(selection.condition.data)[condition] != 0;
  const T* from = static_cast<const T*>(holds ? selection.chosen.data : selection.other.data);
  static_cast<T*>(selection.to)[i] =
      from != nullptr ? from[holds ? chosen : other] : static_cast<T>(selection.constant);
}

__global__ void list_integers(int* to, int count, int start, int step) {
  const int i = element_index();
  if (i < count) to[i] = start + i * step;
}

__global__ void list_hidden(uint8_t* to, int count, int cols, KeyBand seen) {
  const int i = element_index();
  if (i < count) to[i] = seen.hides(i / cols, i % cols);
}

}  // namespace

cudaError_t launch_select(const Selection& selection, cudaStream_t stream) {
  const unsigned blocks = element_blocks(selection.space.count);
  return with_element(selection.element_bytes, [&](auto element) {
    select_elements<decltype(element)><<<blocks, kElementThreads, 0, stream>>>(selection);
  });
}

cudaError_t launch_arange(int* to, int count, int start, int step, cudaStream_t stream) {
  list_integers<<<element_blocks(count), kElementThreads, 0, stream>>>(to, count, start, step);
  return cudaGetLastError();
}

cudaError_t launch_causal_mask(uint8_t* to, int rows, int cols, KeyBand seen, cudaStream_t stream) {
  const int count = rows * cols;
  list_hidden<<<element_blocks(count), kElementThreads, 0, stream>>>(to, count, cols, seen);
  return cudaGetLastError();
}

}  // namespace fusesmith::backends

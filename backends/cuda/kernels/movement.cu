// Movement kernels: one thread per element written.
#include "backends/cuda/kernels/elements.cuh"
#include "backends/cuda/kernels/index_space.cuh"
#include "backends/cuda/kernels/movement.h"

namespace fusesmith::backends {
namespace {

using namespace device;

template <class T>
__global__ void strided_copy(const __grid_constant__ StridedCopy copy) {
  const int i = element_index();
  if (i >= copy.space.count) return;
  int offset = 0;
  for_each_axis(copy.space, i, [&](int axis, int at) { offset += at * copy.strides[axis]; });
  static_cast<T*>(copy.to)[i] = static_cast<const T*>(copy.from)[offset];
}

template <class T>
__global__ void gather_rows(RowGather gather) {
  const int i = element_index();
  if (i >= gather.count) return;
  const int r = i / gather.row;
  const int from = gather.indices[r] * gather.row + (i - r * gather.row);
  static_cast<T*>(gather.to)[i] = static_cast<const T*>(gather.table)[from];
}

template <class T>
__global__ void scatter_slices(SliceScatter scatter) {
  const int i = element_index();
  if (i >= scatter.elements) return;
  const int slice = i / scatter.inner, run = slice / scatter.count;
  const int to = run * scatter.size + scatter.indices[slice - run * scatter.count];
  static_cast<T*>(scatter.to)[to * scatter.inner + i % scatter.inner] =
      static_cast<const T*>(scatter.from)[i];
}

}  // namespace

cudaError_t launch_strided_copy(const StridedCopy& copy, cudaStream_t stream) {
  const unsigned blocks = element_blocks(copy.space.count);
  return with_element(copy.element_bytes, [&](auto element) {
    strided_copy<decltype(element)><<<blocks, kElementThreads, 0, stream>>>(copy);
  });
}

cudaError_t launch_gather(const RowGather& gather, cudaStream_t stream) {
  const unsigned blocks = element_blocks(gather.count);
  return with_element(gather.element_bytes, [&](auto element) {
    gather_rows<decltype(element)><<<blocks, kElementThreads, 0, stream>>>(gather);
  });
}

cudaError_t launch_scatter(const SliceScatter& scatter, cudaStream_t stream) {
  const unsigned blocks = element_blocks(scatter.elements);
  return with_element(scatter.element_bytes, [&](auto element) {
    scatter_slices<decltype(element)><<<blocks, kElementThreads, 0, stream>>>(scatter);
  });
}

}  // namespace fusesmith::backends

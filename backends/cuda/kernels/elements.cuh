// Launches of kernels that make one element per thread, by element size.
#pragma once

#include <cuda_runtime_api.h>

#include <cstdint>

namespace fusesmith::backends::device {

inline constexpr int kElementThreads = 256;

__device__ inline int element_index() {
  return static_cast<int>(blockIdx.x) * kElementThreads + static_cast<int>(threadIdx.x);
}
inline unsigned element_blocks(int count) {
  return static_cast<unsigned>((count + kElementThreads - 1) / kElementThreads);
}

// Calls launch(T{}) with the unsigned type of so many bytes; returns whether that launch went through.
template <class F>
cudaError_t with_element(int bytes, F launch) {
  if (bytes == 1)
    launch(uint8_t{});
  else if (bytes == 2)
    launch(uint16_t{});
  else
    launch(uint32_t{});
  return cudaGetLastError();
}

}  // namespace fusesmith::backends::device

#include <cstdint>

#include "backends/cuda/kernels/faulty_kernels.h"

namespace fusesmith::backends {

namespace {

__global__ void endless_kernel(const volatile int* forever) {
  while (*forever != 0) {
  }
}

__global__ void illegal_address_kernel(int* nowhere) { *nowhere = 1; }

__global__ void trap_kernel() { asm volatile("trap;"); }

}  // namespace

void launch_endless_kernel(const int* forever, cudaStream_t stream) {
  endless_kernel<<<1, 1, 0, stream>>>(forever);
}

void launch_illegal_address_kernel(cudaStream_t stream) {
  constexpr std::uintptr_t kNowhere = std::uintptr_t{1} << 20;
  illegal_address_kernel<<<1, 1, 0, stream>>>(reinterpret_cast<int*>(kNowhere));
}

void launch_trap_kernel(cudaStream_t stream) { trap_kernel<<<1, 1, 0, stream>>>(); }

}  // namespace fusesmith::backends

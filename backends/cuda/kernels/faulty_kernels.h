// Kernels that never end, or end with an error: injected faults (backends/cuda/runtime/device_faults.h).
#pragma once

#include <cuda_runtime_api.h>

namespace fusesmith::backends {

// Runs as long as `*forever` is not 0.
void launch_endless_kernel(const int* forever, cudaStream_t stream);
// Writes to an address where there is no memory.
void launch_illegal_address_kernel(cudaStream_t stream);
void launch_trap_kernel(cudaStream_t stream);

}  // namespace fusesmith::backends

// The versions of what the CUDA backends compute with, for reports.
#pragma once

#include <string>

#include "backends/backend.h"

namespace fusesmith::backends {

// CUDA runtime, cuBLAS, cuDNN, and the newest CUDA that the driver supports; what does not answer is left
// out.
Versions cuda_library_versions();

// "NVIDIA H200, compute capability 9.0"; empty if no device answers.
std::string cuda_device_text();

}  // namespace fusesmith::backends

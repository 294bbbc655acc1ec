// The GPUs that this process may use.
#pragma once

#include <vector>

#include "backends/gpu.h"

namespace fusesmith::backends {

// By CUDA's index; none where no GPU answers. Loads CUDA.
std::vector<Gpu> list_gpus();

}  // namespace fusesmith::backends

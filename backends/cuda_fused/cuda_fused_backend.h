// `cuda_fused`: the rewritten plan on an NVIDIA GPU, with fused kernels.
#pragma once

#include "backends/backend.h"

namespace fusesmith::backends {

const Backend& cuda_fused_backend();

}  // namespace fusesmith::backends

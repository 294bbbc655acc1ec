// `cuda`: the unfused executor on an NVIDIA GPU.
#pragma once

#include "backends/backend.h"

namespace fusesmith::backends {

const Backend& cuda_backend();

}  // namespace fusesmith::backends

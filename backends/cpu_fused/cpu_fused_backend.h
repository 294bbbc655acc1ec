// The backend `cpu_fused`: executes the rewritten plan (backends/rewrite) with the algorithms of fused GPU
// kernels: tiled online softmax, Welford statistics, epilogues on the f32 accumulator, inner values that
// are not rounded to 16 bits.
#pragma once

#include "backends/backend.h"

namespace fusesmith::backends {

const Backend& cpu_fused_backend();

}  // namespace fusesmith::backends

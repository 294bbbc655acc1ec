// The backend `cpu_fused`: runs the rewritten plan (backends/rewrite) with the algorithms of fused GPU
// kernels: tiled online softmax, Welford statistics, epilogues on the f32 accumulator, inner values that are
// never rounded to 16 bits.
#pragma once

#include "backends/backend.h"

namespace fusesmith::backends {

const Backend& cpu_fused_backend();

}  // namespace fusesmith::backends

// A tensor read with other strides: what movement ops and the packing of products share.
#pragma once

#include "backends/cuda/runtime/launch.h"

namespace fusesmith::backends {

// out[i...] = in[start + sum i * strides], over the output's shape and bit for bit. After merging neighbours
// that follow each other, at most kMaxAxes axes may remain.
void emit_view(const DeviceTensor& in, int64_t start, Shape strides, const DeviceTensor& out,
               Emitter& emitter);

}  // namespace fusesmith::backends

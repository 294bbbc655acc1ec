// A strided copy, used by movement ops and by the packing of products.
#pragma once

#include "backends/cuda/runtime/launch.h"

namespace fusesmith::backends {

// Copies out[i...] = in[start + sum i * strides] over the output's shape, bit for bit. After merging
// contiguous neighbours at most kMaxAxes axes may remain.
void emit_view(const DeviceTensor& in, int64_t start, Shape strides, const DeviceTensor& out,
               Emitter& emitter);

}  // namespace fusesmith::backends

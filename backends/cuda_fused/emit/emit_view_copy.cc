// ViewCopy: one strided copy for all the moves.
#include "backends/cuda/emit/emit_view.h"
#include "backends/cuda_fused/emit/emit_fused.h"

namespace fusesmith::backends {

Emitted emit_fused(const ViewCopy& copy, const FusedScope& scope, const DeviceTensor& out, Emitter& emitter) {
  if (copy.sizes.size() > size_t{kMaxRank}) return false;
  emit_view(scope.at(copy.input), 0, copy.strides, {out.buffer, {out.type.dtype, copy.sizes}}, emitter);
  return true;
}

}  // namespace fusesmith::backends

// Identity: a copy on the device.
#include "backends/cuda/emit/pointwise_program.h"
#include "backends/cuda/runtime/check.h"
#include "backends/cuda_fused/emit/emit_fused.h"

namespace fusesmith::backends {
namespace {

// Injected fault: the output is x / 0.9.
void emit_kept_dropout_scale(const DeviceTensor& in, const DeviceTensor& out, Emitter& emitter) {
  PointwiseBuilder builder(out.type.shape);
  const int x = builder.add_operand(in);
  builder.add_step(Scale{0.9, true}, out.type.dtype, {x});
  emit_pointwise(builder, out, emitter);
}

}  // namespace

Emitted emit_fused(const Identity& identity, const FusedScope& scope, const DeviceTensor& out,
                   Emitter& emitter) {
  const DeviceTensor& in = scope.at(identity.input);
  if (scope.planted("dropout_scale_kept")) {
    emit_kept_dropout_scale(in, out, emitter);
    return true;
  }
  const auto bytes = static_cast<size_t>(element_count(out.type) * size_of(out.type.dtype));
  emitter.launch([bytes, from = in.buffer, to = out.buffer](const LaunchContext& at) {
    check_cuda(cudaMemcpyAsync(at.at(to), at.at(from), bytes, cudaMemcpyDeviceToDevice, at.stream()),
               "cudaMemcpyAsync");
  });
  return true;
}

}  // namespace fusesmith::backends

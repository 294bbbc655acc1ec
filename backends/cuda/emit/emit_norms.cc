// LayerNorm, RMSNorm, GroupNorm: one launch of norms.cu, in one storage for all operands.
#include "backends/cuda/emit/dtype_storage.h"
#include "backends/cuda/emit/emit_node.h"
#include "backends/cuda/kernels/norms.h"
#include "backends/cuda/runtime/check.h"

namespace fusesmith::backends {
namespace {

// Weight and bias, if any, are inputs 1 and 2.
void emit_norm(NormRows norm, DeviceTensors in, DeviceTensors out, Emitter& emitter) {
  norm.rows = static_cast<int>(element_count(in[0].type) / norm.columns);
  norm.storage = storage_of(in[0].type.dtype);
  std::vector<Buffer> buffers;
  for (const DeviceTensor& tensor : in) buffers.push_back(tensor.buffer);
  emitter.launch([norm, buffers, to = out[0].buffer](const LaunchContext& at) {
    NormRows placed = norm;
    placed.x = at.at(buffers[0]);
    if (buffers.size() > 1) placed.weight = at.at(buffers[1]);
    if (buffers.size() > 2) placed.bias = at.at(buffers[2]);
    placed.y = at.at(to);
    if (norm.centred) placed.mean = at.inner("mean", norm.rows);
    placed.rstd = at.inner("rstd", norm.rows);
    check_cuda(launch_norm(placed, at.stream()), "kernel normalize_rows");
  });
}

NormRows last_axis(const TensorType& type, bool centred, double eps) {
  NormRows norm{};
  norm.columns = norm.channels = static_cast<int>(type.shape.back());
  norm.plane = 1;
  norm.centred = centred;
  norm.eps = static_cast<float>(eps);
  return norm;
}

}  // namespace

void emit(const LayerNorm& op, DeviceTensors in, DeviceTensors out, Emitter& emitter) {
  emit_norm(last_axis(in[0].type, true, op.eps), in, out, emitter);
}

void emit(const RmsNorm& op, DeviceTensors in, DeviceTensors out, Emitter& emitter) {
  emit_norm(last_axis(in[0].type, false, op.eps), in, out, emitter);
}

void emit(const GroupNorm& op, DeviceTensors in, DeviceTensors out, Emitter& emitter) {
  const Shape& shape = in[0].type.shape;
  NormRows norm = last_axis(in[0].type, true, op.eps);
  norm.channels = static_cast<int>(shape[1]);
  norm.plane = static_cast<int>(element_count(Shape(shape.begin() + 2, shape.end())));
  norm.columns = norm.channels / static_cast<int>(op.groups) * norm.plane;
  emit_norm(norm, in, out, emitter);
}

}  // namespace fusesmith::backends

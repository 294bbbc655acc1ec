// LayerNorm: one launch of layer_norm.cu, in one storage for all operands.
#include "backends/cuda/check.h"
#include "backends/cuda/dtype_storage.h"
#include "backends/cuda/emit_node.h"
#include "backends/cuda/layer_norm.h"

namespace fusesmith {

void emit(const LayerNorm& op, DeviceTensors in, DeviceTensors out, Emitter& emitter) {
  const TensorType& type = in[0].type;
  LayerNormRows norm{};
  norm.columns = static_cast<int>(type.shape.back());
  norm.rows = static_cast<int>(element_count(type) / type.shape.back());
  norm.storage = storage_of(type.dtype);
  norm.eps = static_cast<float>(op.eps);
  std::vector<Buffer> buffers;
  for (const DeviceTensor& tensor : in) buffers.push_back(tensor.buffer);
  emitter.launch([norm, buffers, to = out[0].buffer](const LaunchContext& at) {
    LayerNormRows placed = norm;
    placed.x = at.at(buffers[0]);
    if (buffers.size() > 1) placed.weight = at.at(buffers[1]);
    if (buffers.size() > 2) placed.bias = at.at(buffers[2]);
    placed.y = at.at(to);
    check_cuda(launch_layer_norm(placed, at.stream()), "kernel layer_norm");
  });
}

}  // namespace fusesmith

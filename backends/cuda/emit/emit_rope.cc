// Rotary position embedding: one launch of rope.cu.
#include "backends/cuda/emit/dtype_storage.h"
#include "backends/cuda/emit/emit_node.h"
#include "backends/cuda/emit/merge_space.h"
#include "backends/cuda/kernels/rope.h"
#include "backends/cuda/runtime/check.h"

namespace fusesmith::backends {

void emit(const Rope& op, DeviceTensors in, DeviceTensors out, Emitter& emitter) {
  const int64_t width = out[0].type.shape.back(), half = op.rotated(width) / 2;
  Shape pairs = out[0].type.shape;
  pairs.back() = half;
  Shape strides[] = {broadcast_strides(in[1].type.shape, pairs), broadcast_strides(in[2].type.shape, pairs)};
  Shape steps = pairs;  // the pairs of a row, then its other elements
  steps.back() = width - half;
  Rotation rotation{};
  rotation.steps = merge_space(steps, strides);
  copy_strides(strides[0], rotation.cos_strides);
  copy_strides(strides[1], rotation.sin_strides);
  rotation.width = static_cast<int>(width);
  rotation.half = static_cast<int>(half);
  rotation.interleaved = op.pairing == Rope::Pairing::interleaved;
  rotation.storage = storage_of(out[0].type.dtype);
  emitter.launch([rotation, x = in[0].buffer, cos = in[1].buffer, sin = in[2].buffer,
                  to = out[0].buffer](const LaunchContext& at) {
    Rotation placed = rotation;
    placed.x = at.at(x);
    placed.cos = at.at(cos);
    placed.sin = at.at(sin);
    placed.y = at.at(to);
    check_cuda(launch_rope(placed, at.stream()), "kernel rotate_pairs");
  });
}

}  // namespace fusesmith::backends

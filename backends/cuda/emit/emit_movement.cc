// Movement ops: a copy where the elements keep their order, else one strided copy.
#include <string>

#include "backends/common/flip_view.h"
#include "backends/cuda/emit/emit_node.h"
#include "backends/cuda/emit/emit_view.h"
#include "backends/cuda/emit/merge_space.h"
#include "backends/cuda/kernels/movement.h"
#include "backends/cuda/runtime/check.h"

namespace fusesmith::backends {
namespace {

// out[i] = in[start + i], for all of out.
void emit_copy(const DeviceTensor& in, int64_t start, const DeviceTensor& out, Emitter& emitter) {
  const int64_t element = size_of(out.type.dtype);
  const int64_t bytes = element_count(out.type) * element;
  emitter.launch([from = in.buffer, to = out.buffer, skip = start * element, bytes](const LaunchContext& at) {
    const std::byte* source = static_cast<const std::byte*>(at.at(from)) + skip;
    check_cuda(
        cudaMemcpyAsync(at.at(to), source, static_cast<size_t>(bytes), cudaMemcpyDeviceToDevice, at.stream()),
        "cudaMemcpyAsync within the device");
  });
}

}  // namespace

void emit_view(const DeviceTensor& in, int64_t start, Shape strides, const DeviceTensor& out,
               Emitter& emitter) {
  StridedCopy copy{};
  copy.space = merge_space(out.type.shape, {&strides, 1});
  if (is_contiguous(copy.space, strides)) return emit_copy(in, start, out, emitter);
  copy_strides(strides, copy.strides);
  copy.element_bytes = size_of(out.type.dtype);
  emitter.launch(
      [copy, from = in.buffer, to = out.buffer, skip = start * copy.element_bytes](const LaunchContext& at) {
        StridedCopy placed = copy;
        placed.from = static_cast<const std::byte*>(at.at(from)) + skip;
        placed.to = at.at(to);
        check_cuda(launch_strided_copy(placed, at.stream()), "kernel strided_copy");
      });
}

void emit(const Reshape&, DeviceTensors in, DeviceTensors out, Emitter& emitter) {
  emit_copy(in[0], 0, out[0], emitter);
}
void emit(const Unsqueeze&, DeviceTensors in, DeviceTensors out, Emitter& emitter) {
  emit_copy(in[0], 0, out[0], emitter);
}
void emit(const Squeeze&, DeviceTensors in, DeviceTensors out, Emitter& emitter) {
  emit_copy(in[0], 0, out[0], emitter);
}

void emit(const Permute& op, DeviceTensors in, DeviceTensors out, Emitter& emitter) {
  const Shape own = strides_of(in[0].type.shape);
  Shape strides;
  for (int64_t dim : op.dims) strides.push_back(own[static_cast<size_t>(dim)]);
  emit_view(in[0], 0, std::move(strides), out[0], emitter);
}

void emit(const BroadcastTo&, DeviceTensors in, DeviceTensors out, Emitter& emitter) {
  emit_view(in[0], 0, broadcast_strides(in[0].type.shape, out[0].type.shape), out[0], emitter);
}

void emit(const Slice& op, DeviceTensors in, DeviceTensors out, Emitter& emitter) {
  const size_t axis = static_cast<size_t>(*resolve_axis(op.axis, in[0].type.rank()));
  Shape strides = strides_of(in[0].type.shape);
  const int64_t start = op.start * strides[axis];
  strides[axis] *= op.step;
  emit_view(in[0], start, std::move(strides), out[0], emitter);
}

void emit(const Flip& op, DeviceTensors in, DeviceTensors out, Emitter& emitter) {
  FlipView view = flip_view(op, out[0].type);
  emit_view(in[0], view.start, std::move(view.strides), out[0], emitter);
}

void emit(const Gather&, DeviceTensors in, DeviceTensors out, Emitter& emitter) {
  RowGather gather{};
  gather.count = static_cast<int>(element_count(out[0].type));
  gather.row = static_cast<int>(element_count(in[0].type) / in[0].type.shape[0]);
  gather.element_bytes = size_of(out[0].type.dtype);
  emitter.launch(
      [gather, table = in[0].buffer, indices = in[1].buffer, to = out[0].buffer](const LaunchContext& at) {
        RowGather placed = gather;
        placed.table = at.at(table);
        placed.indices = static_cast<const int*>(at.at(indices));
        placed.to = at.at(to);
        check_cuda(launch_gather(placed, at.stream()), "kernel gather");
      });
}

}  // namespace fusesmith::backends

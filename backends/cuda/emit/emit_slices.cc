// Movement of whole slices along one axis: slices that stay contiguous are one row of a 2D copy.
#include "backends/cuda/emit/emit_node.h"
#include "backends/cuda/kernels/movement.h"
#include "backends/cuda/runtime/check.h"

namespace fusesmith::backends {
namespace {

// An axis of a tensor: `outer` runs of `size` slices of `inner` elements.
struct AxisView {
  int64_t outer, size, inner, element_bytes;
};

AxisView view_of(const TensorType& type, int64_t axis) {
  const auto at = static_cast<size_t>(*resolve_axis(axis, type.rank()));
  const int64_t inner = strides_of(type.shape)[at], size = type.shape[at];
  return {element_count(type) / (inner * size), size, inner, size_of(type.dtype)};
}

struct Slices {
  const DeviceTensor& tensor;
  int64_t axis, first;
};

// `count` slices of every run, bit for bit.
void emit_slices(const Slices& from, const Slices& to, int64_t count, Emitter& emitter) {
  if (count == 0) return;
  const AxisView in = view_of(from.tensor.type, from.axis), out = view_of(to.tensor.type, to.axis);
  const auto bytes = [&](int64_t slices) {
    return static_cast<size_t>(slices * in.inner * in.element_bytes);
  };
  const size_t skip_in = bytes(from.first), skip_out = bytes(to.first), width = bytes(count),
               pitch_in = bytes(in.size), pitch_out = bytes(out.size);
  const auto height = static_cast<size_t>(in.outer);
  emitter.launch([=, source = from.tensor.buffer, target = to.tensor.buffer](const LaunchContext& at) {
    check_cuda(cudaMemcpy2DAsync(static_cast<std::byte*>(at.at(target)) + skip_out, pitch_out,
                                 static_cast<const std::byte*>(at.at(source)) + skip_in, pitch_in, width,
                                 height, cudaMemcpyDeviceToDevice, at.stream()),
               "cudaMemcpy2DAsync within the device");
  });
}

}  // namespace

void emit(const Chunk& op, DeviceTensors in, DeviceTensors out, Emitter& emitter) {
  const int64_t size = view_of(out[0].type, op.axis).size;
  int64_t first = 0;
  for (const DeviceTensor& part : out) {
    emit_slices({in[0], op.axis, first}, {part, op.axis, 0}, size, emitter);
    first += size;
  }
}

void emit(const Concat& op, DeviceTensors in, DeviceTensors out, Emitter& emitter) {
  int64_t first = 0;
  for (const DeviceTensor& part : in) {
    const int64_t size = view_of(part.type, op.axis).size;
    emit_slices({part, op.axis, 0}, {out[0], op.axis, first}, size, emitter);
    first += size;
  }
}

void emit(const Roll& op, DeviceTensors in, DeviceTensors out, Emitter& emitter) {
  const int64_t size = view_of(out[0].type, op.axis).size, shift = roll_offset(op, size);
  emit_slices({in[0], op.axis, 0}, {out[0], op.axis, shift}, size - shift, emitter);
  emit_slices({in[0], op.axis, size - shift}, {out[0], op.axis, 0}, shift, emitter);
}

void emit(const IndexCopy& op, DeviceTensors in, DeviceTensors out, Emitter& emitter) {
  const AxisView whole = view_of(out[0].type, op.axis);
  emit_slices({in[0], op.axis, 0}, {out[0], op.axis, 0}, whole.size, emitter);
  SliceScatter scatter{};
  scatter.elements = static_cast<int>(element_count(in[2].type));
  scatter.count = static_cast<int>(in[1].type.shape[0]);
  scatter.size = static_cast<int>(whole.size);
  scatter.inner = static_cast<int>(whole.inner);
  scatter.element_bytes = static_cast<int>(whole.element_bytes);
  emitter.launch(
      [scatter, source = in[2].buffer, indices = in[1].buffer, to = out[0].buffer](const LaunchContext& at) {
        SliceScatter placed = scatter;
        placed.from = at.at(source);
        placed.indices = static_cast<const int*>(at.at(indices));
        placed.to = at.at(to);
        check_cuda(launch_scatter(placed, at.stream()), "kernel scatter_slices");
      });
}

}  // namespace fusesmith::backends

// Select and source ops: elements are chosen or listed, never computed with.
#include <cstring>
#include <optional>

#include "backends/cuda/emit/emit_node.h"
#include "backends/cuda/emit/merge_space.h"
#include "backends/cuda/kernels/select.h"
#include "backends/cuda/runtime/check.h"

namespace fusesmith::backends {
namespace {

// An operand of a selection: a tensor, or the constant if empty.
using Source = std::optional<DeviceTensor>;

void* address(const Source& source, const LaunchContext& at) { return source ? at.at(*source) : nullptr; }

// out = condition ? chosen : other, all broadcast to the output's shape.
void emit_selection(const DeviceTensor& condition, const Source& chosen, const Source& other,
                    uint32_t constant, const DeviceTensor& out, Emitter& emitter) {
  const Shape& shape = out.type.shape;
  const auto strides_over = [&](const Source& source) {
    return source ? broadcast_strides(source->type.shape, shape) : Shape(shape.size(), 0);
  };
  Shape strides[] = {strides_over(condition), strides_over(chosen), strides_over(other)};
  Selection selection{};
  selection.space = merge_space(shape, strides);
  copy_strides(strides[0], selection.condition.strides);
  copy_strides(strides[1], selection.chosen.strides);
  copy_strides(strides[2], selection.other.strides);
  selection.constant = constant;
  selection.element_bytes = size_of(out.type.dtype);
  emitter.launch([=](const LaunchContext& at) {
    Selection placed = selection;
    placed.condition.data = at.at(condition);
    placed.chosen.data = address(chosen, at);
    placed.other.data = address(other, at);
    placed.to = at.at(out);
    check_cuda(launch_select(placed, at.stream()), "kernel select");
  });
}

// The bits of the element nearest to x.
uint32_t bits_of(Dtype dtype, double x) {
  Tensor value({dtype, {}});
  value.set(0, x);
  uint32_t bits = 0;
  std::memcpy(&bits, value.bytes.data(), value.bytes.size());
  return bits;
}

}  // namespace

void emit(const Where&, DeviceTensors in, DeviceTensors out, Emitter& emitter) {
  emit_selection(in[0], in[1], in[2], 0, out[0], emitter);
}

void emit(const MaskedFill& op, DeviceTensors in, DeviceTensors out, Emitter& emitter) {
  const Source x = in[0], value;
  emit_selection(in[1], op.inverted ? x : value, op.inverted ? value : x,
                 bits_of(out[0].type.dtype, op.value), out[0], emitter);
}

void emit(const Arange& op, DeviceTensors, DeviceTensors out, Emitter& emitter) {
  const int count = static_cast<int>(op.count), start = static_cast<int>(op.start),
            step = static_cast<int>(op.step);
  emitter.launch([=, to = out[0].buffer](const LaunchContext& at) {
    check_cuda(launch_arange(static_cast<int*>(at.at(to)), count, start, step, at.stream()), "kernel arange");
  });
}

void emit(const CausalMask& op, DeviceTensors, DeviceTensors out, Emitter& emitter) {
  const int rows = static_cast<int>(op.rows), cols = static_cast<int>(op.cols);
  const KeyBand seen{static_cast<int>(causal_offset(op.alignment, op.rows, op.cols)),
                     static_cast<int>(op.window), !op.shows_future};
  emitter.launch([=, to = out[0].buffer](const LaunchContext& at) {
    check_cuda(launch_causal_mask(static_cast<uint8_t*>(at.at(to)), rows, cols, seen, at.stream()),
               "kernel causal_mask");
  });
}

}  // namespace fusesmith::backends

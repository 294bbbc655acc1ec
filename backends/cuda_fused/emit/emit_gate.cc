// Gate through gate.cu.
#include "backends/cuda/emit/dtype_storage.h"
#include "backends/cuda/runtime/check.h"
#include "backends/cuda_fused/emit/emit_fused.h"
#include "backends/cuda_fused/rows/gate.h"

namespace fusesmith::backends {

namespace {

// The address of an operand's first element.
struct Place {
  Buffer buffer;
  int64_t bytes;

  Place(const Gate::Operand& operand, const FusedScope& scope)
      : buffer(scope.at(operand.value).buffer),
        bytes(operand.first * size_of(scope.at(operand.value).type.dtype)) {}
  const void* at(const LaunchContext& context) const {
    return static_cast<const std::byte*>(context.at(buffer)) + bytes;
  }
};

}  // namespace

Emitted emit_fused(const Gate& gate, const FusedScope& scope, const DeviceTensor& out, Emitter& emitter) {
  const Dtype gate_dtype = scope.at(gate.gate.value).type.dtype, dtype = out.type.dtype;
  // A fault that swaps the halves may give the factor the dtype of the activation.
  if (scope.at(gate.value.value).type.dtype != dtype) return false;
  const int64_t piece = 16 / size_of(dtype);
  const auto whole_pieces = [&](const Gate::Operand& operand) {
    return operand.first % piece == 0 && operand.pitch % piece == 0;
  };
  GateParams params{};
  params.rows = static_cast<int>(gate.rows);
  params.columns = static_cast<int>(gate.columns);
  params.gate_pitch = static_cast<int>(gate.gate.pitch);
  params.value_pitch = static_cast<int>(gate.value.pitch);
  params.gate_storage = storage_of(gate_dtype);
  params.storage = storage_of(dtype);
  params.activation = kernel_activation(gate.activation);
  params.casts = gate.cast.has_value();
  params.cast = storage_of(gate.cast.value_or(Dtype::f32));
  params.vectors = gate_dtype == dtype && !gate.cast && gate.columns % piece == 0 &&
                   whole_pieces(gate.gate) && whole_pieces(gate.value);
  params.tail_block_skipped = scope.planted("gate_tail_block_skipped");
  const Place gates(gate.gate, scope), values(gate.value, scope);
  emitter.launch([=, to = out.buffer](const LaunchContext& at) {
    GateParams placed = params;
    placed.gate = gates.at(at);
    placed.value = values.at(at);
    placed.out = at.at(to);
    check_cuda(launch_gate(placed, at.stream()), "kernel gate");
  });
  return true;
}

}  // namespace fusesmith::backends

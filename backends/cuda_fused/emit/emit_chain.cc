// PointwiseChain: one program of the pointwise interpreter. Casts are the only steps that round.
#include <algorithm>

#include "backends/cuda/emit/pointwise_program.h"
#include "backends/cuda_fused/emit/emit_fused.h"

namespace fusesmith::backends {
namespace {

// Injected fault: the rounding of a cast is left out.
Op without_rounding(const Op& op, const FusedScope& scope) {
  const bool skipped = std::holds_alternative<Cast>(op) && scope.planted("explicit_cast_skipped");
  return skipped ? Op(Cast{Dtype::f32}) : op;
}

std::vector<int> arguments_of(const PointwiseChain::Step& step, const std::vector<int>& operands,
                              const std::vector<int>& steps, const FusedScope& scope) {
  std::vector<int> arguments;
  for (int from : step.arguments) {
    arguments.push_back(from >= 0 ? steps[static_cast<size_t>(from)]
                                  : operands[static_cast<size_t>(-1 - from)]);
  }
  if (std::holds_alternative<Where>(step.op) && scope.planted("where_branches_swapped")) {
    std::swap(arguments[1], arguments[2]);
  }
  return arguments;
}

}  // namespace

Emitted emit_fused(const PointwiseChain& chain, const FusedScope& scope, const DeviceTensor& out,
                   Emitter& emitter) {
  PointwiseBuilder builder(chain.shape);
  std::vector<int> operands, steps;
  for (const PointwiseChain::Operand& operand : chain.operands) {
    operands.push_back(builder.add_operand(scope.at(operand.value), operand.strides));
  }
  for (const PointwiseChain::Step& step : chain.steps) {
    steps.push_back(builder.add_step(without_rounding(step.op, scope), step.dtype,
                                     arguments_of(step, operands, steps, scope)));
  }
  if (!builder.fits()) return false;
  if (scope.planted("chain_tail_block_skipped")) builder.leave_tail_unwritten();
  emit_pointwise(builder, out, emitter);
  return true;
}

}  // namespace fusesmith::backends

// Pointwise nodes, each a program of one step, and formulas that are made of them.
#include "backends/cuda/emit/pointwise_program.h"
#include "backends/cuda/runtime/check.h"
#include "graph/result.h"

namespace fusesmith::backends {

void emit_pointwise(const PointwiseBuilder& builder, const DeviceTensor& out, Emitter& emitter) {
  std::vector<Buffer> buffers;
  for (const DeviceTensor& tensor : builder.tensors()) buffers.push_back(tensor.buffer);
  emitter.launch(
      [program = builder.program(out.type.dtype), buffers, to = out.buffer](const LaunchContext& at) {
        PointwiseProgram placed = program;
        for (size_t i = 0; i < buffers.size(); ++i) placed.operands[i].data = at.at(buffers[i]);
        placed.out = at.at(to);
        check_cuda(launch_pointwise(placed, at.stream()), "kernel pointwise");
      });
}

void emit_pointwise_node(const Op& op, DeviceTensors in, DeviceTensors out, Emitter& emitter) {
  PointwiseBuilder builder(out[0].type.shape);
  std::vector<int> arguments;
  for (const DeviceTensor& tensor : in) arguments.push_back(builder.add_operand(tensor));
  builder.add_step(op, out[0].type.dtype, arguments);
  emit_pointwise(builder, out[0], emitter);
}

void emit_formula(const PointwiseFormula& formula, DeviceTensors in, DeviceTensors out, Emitter& emitter) {
  PointwiseBuilder builder(out[0].type.shape);
  std::vector<int> operands;
  for (const DeviceTensor& tensor : in) operands.push_back(builder.add_operand(tensor));
  builder.add_formula(formula, operands);
  emit_pointwise(builder, out[0], emitter);
}

}  // namespace fusesmith::backends

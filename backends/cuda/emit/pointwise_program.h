// Programs for pointwise.cu made from graph ops: for single nodes, fused chains, and what follows a product.
#pragma once

#include <vector>

#include "backends/cuda/kernels/pointwise.h"
#include "backends/cuda/runtime/launch.h"
#include "graph/pointwise_formula.h"

namespace fusesmith::backends {

// Adds operands and steps one by one; the last step is the result.
class PointwiseBuilder {
 public:
  explicit PointwiseBuilder(Shape shape) : shape_(std::move(shape)) {}

  // Add an operand with given strides (in elements over the shape, 0 along broadcast axes), an operand
  // broadcast by numpy's rules, or a step. Each returns the argument by which later steps refer to it.
  int add_operand(const DeviceTensor& tensor, Shape strides);
  int add_operand(const DeviceTensor& tensor);
  int add_step(const Op& op, Dtype dtype, const std::vector<int>& arguments);
  // The steps of a formula, whose operands are these arguments.
  int add_formula(const PointwiseFormula& formula, const std::vector<int>& operands);

  // Fault: elements beyond the last multiple of 32 are not written.
  void leave_tail_unwritten() { tail_unwritten_ = true; }

  // Whether the kernel supports this many operands and steps.
  bool fits() const;
  // With merged axes, storing to `out`; addresses are not set. Must fit.
  PointwiseProgram program(Dtype out) const;
  // By operand.
  const std::vector<DeviceTensor>& tensors() const { return tensors_; }

 private:
  Shape shape_;
  std::vector<DeviceTensor> tensors_;
  std::vector<Shape> strides_;
  std::vector<ProgramStep> steps_;
  bool tail_unwritten_ = false;
};

// Adds the launch that fills `out`, of the builder's shape and a float dtype. Must fit. `out` may be the
// buffer of an operand of the same type.
void emit_pointwise(const PointwiseBuilder& builder, const DeviceTensor& out, Emitter& emitter);

// One node of class pointwise or select as a program of one step, and a defined op by its formula, which must
// fit.
void emit_pointwise_node(const Op& op, DeviceTensors in, DeviceTensors out, Emitter& emitter);
void emit_formula(const PointwiseFormula& formula, DeviceTensors in, DeviceTensors out, Emitter& emitter);
inline bool fits_program(const PointwiseFormula& formula, DeviceTensors in) {
  return in.size() <= size_t{kMaxPointwiseOperands} && formula.steps.size() <= size_t{kMaxPointwiseSteps};
}

}  // namespace fusesmith::backends

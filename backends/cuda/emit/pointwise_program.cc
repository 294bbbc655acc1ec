#include "backends/cuda/emit/pointwise_program.h"

#include <algorithm>

#include "backends/common/scalar_step.h"
#include "backends/cuda/emit/dtype_storage.h"
#include "backends/cuda/emit/merge_space.h"

namespace fusesmith::backends {
int PointwiseBuilder::add_operand(const DeviceTensor& tensor, Shape strides) {
  check(strides.size() == shape_.size(), "add_operand: strides of another rank");
  tensors_.push_back(tensor);
  strides_.push_back(std::move(strides));
  return -static_cast<int>(tensors_.size());
}

int PointwiseBuilder::add_operand(const DeviceTensor& tensor) {
  return add_operand(tensor, broadcast_strides(tensor.type.shape, shape_));
}

int PointwiseBuilder::add_step(const Op& op, Dtype dtype, const std::vector<int>& arguments) {
  const int number = static_cast<int>(steps_.size()), operands = static_cast<int>(tensors_.size());
  const ScalarStep step = scalar_step(op, dtype, arguments.size());
  ProgramStep added{step.op, step.constant, storage_rounding(step.rounding), step.inverted, 0, {}};
  for (int argument : arguments) {
    check(argument < number && argument >= -operands, "add_step: an argument that is not there");
    added.arguments[added.argument_count++] = argument;
  }
  steps_.push_back(added);
  return number;
}

int PointwiseBuilder::add_formula(const PointwiseFormula& formula, const std::vector<int>& operands) {
  std::vector<int> steps;
  for (const PointwiseStep& step : formula.steps) {
    std::vector<int> arguments;
    for (const int from : step.arguments)
      arguments.push_back(from >= 0 ? steps[static_cast<size_t>(from)]
                                    : operands[static_cast<size_t>(-1 - from)]);
    steps.push_back(add_step(step.op, step.dtype, arguments));
  }
  return steps.back();
}

bool PointwiseBuilder::fits() const {
  return tensors_.size() <= size_t{kMaxPointwiseOperands} && steps_.size() <= size_t{kMaxPointwiseSteps};
}

PointwiseProgram PointwiseBuilder::program(Dtype out) const {
  check(fits() && !steps_.empty() && is_rounded(out),
        "pointwise program: too long, empty, or not to a float");
  PointwiseProgram program{};
  std::vector<Shape> strides = strides_;
  program.space = merge_space(shape_, strides);
  program.operand_count = static_cast<int>(tensors_.size());
  for (size_t i = 0; i < tensors_.size(); ++i) {
    PointwiseOperand& operand = program.operands[i];
    operand.storage = storage_of(tensors_[i].type.dtype);
    operand.contiguous = is_contiguous(program.space, strides[i]);
    copy_strides(strides[i], operand.strides);
  }
  program.step_count = static_cast<int>(steps_.size());
  std::copy(steps_.begin(), steps_.end(), program.steps);
  program.out_storage = storage_of(out);
  program.tail_unwritten = tail_unwritten_;
  return program;
}

}  // namespace fusesmith::backends

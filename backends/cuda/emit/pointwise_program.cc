#include "backends/cuda/emit/pointwise_program.h"

#include <algorithm>

#include "backends/cuda/emit/dtype_storage.h"
#include "backends/cuda/emit/merge_space.h"

namespace fusesmith::backends {
namespace {

PointwiseStep step_of(PointwiseOp op, float constant = 0) { return {op, Storage::f32, constant, false, {}}; }

// Constants are rounded as on the CPU: the factor of scale and the cap of softcap to f32, the value of
// masked_fill to the dtype of its result.
struct StepOf {
  Dtype dtype;

  PointwiseStep operator()(const Add&) const { return step_of(PointwiseOp::add); }
  PointwiseStep operator()(const Sub&) const { return step_of(PointwiseOp::sub); }
  PointwiseStep operator()(const Mul&) const { return step_of(PointwiseOp::mul); }
  PointwiseStep operator()(const Div&) const { return step_of(PointwiseOp::div); }
  PointwiseStep operator()(const Maximum&) const { return step_of(PointwiseOp::maximum); }
  PointwiseStep operator()(const Scale& op) const {
    return step_of(op.inverse ? PointwiseOp::scale_divide : PointwiseOp::scale,
                   static_cast<float>(op.factor));
  }
  PointwiseStep operator()(const Relu&) const { return step_of(PointwiseOp::relu); }
  PointwiseStep operator()(const Gelu& op) const {
    switch (op.form) {
      case Gelu::Form::erf:
        return step_of(PointwiseOp::gelu_erf);
      case Gelu::Form::tanh:
        break;
    }
    return step_of(PointwiseOp::gelu_tanh);
  }
  PointwiseStep operator()(const Silu&) const { return step_of(PointwiseOp::silu); }
  PointwiseStep operator()(const Sigmoid&) const { return step_of(PointwiseOp::sigmoid); }
  PointwiseStep operator()(const Tanh&) const { return step_of(PointwiseOp::tanh); }
  PointwiseStep operator()(const Exp&) const { return step_of(PointwiseOp::exp); }
  PointwiseStep operator()(const Sqrt&) const { return step_of(PointwiseOp::sqrt); }
  PointwiseStep operator()(const Rsqrt&) const { return step_of(PointwiseOp::rsqrt); }
  PointwiseStep operator()(const Softcap& op) const {
    return step_of(PointwiseOp::softcap, static_cast<float>(op.cap));
  }
  PointwiseStep operator()(const Cast& op) const {
    PointwiseStep step = step_of(PointwiseOp::round);
    step.rounding = storage_of(op.dtype);
    return step;
  }
  PointwiseStep operator()(const Where&) const { return step_of(PointwiseOp::where); }
  PointwiseStep operator()(const MaskedFill& op) const {
    PointwiseStep step = step_of(PointwiseOp::masked_fill, static_cast<float>(round_to(dtype, op.value)));
    step.inverted = op.inverted;
    return step;
  }
  template <class T>
  PointwiseStep operator()(const T&) const {
    static_assert(T::info.op_class != OpClass::pointwise && T::info.op_class != OpClass::select);
    check(false, "pointwise_step: the op is neither pointwise nor select");
    return {};
  }
};

}  // namespace

PointwiseStep pointwise_step(const Op& op, Dtype dtype) { return std::visit(StepOf{dtype}, op); }

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
  PointwiseStep step = pointwise_step(op, dtype);
  check(arguments.size() == static_cast<size_t>(info(op).min_inputs), "add_step: wrong number of arguments");
  for (int argument : arguments) {
    check(argument < number && argument >= -operands, "add_step: an argument that is not there");
  }
  std::copy(arguments.begin(), arguments.end(), step.arguments);
  steps_.push_back(step);
  return number;
}

bool PointwiseBuilder::fits() const {
  return tensors_.size() <= size_t{kMaxPointwiseOperands} && steps_.size() <= size_t{kMaxPointwiseSteps};
}

PointwiseProgram PointwiseBuilder::program(Dtype out) const {
  check(fits() && !steps_.empty() && is_float(out), "pointwise program: too long, empty, or not to a float");
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

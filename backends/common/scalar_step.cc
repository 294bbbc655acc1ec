#include "backends/common/scalar_step.h"

#include <algorithm>

#include "backends/common/floats.h"
#include "backends/common/round_through.h"

namespace fusesmith::backends {
namespace {

// Where several functions compute one op, its attributes choose.
struct StepOf {
  Dtype dtype;
  size_t arguments;

  ScalarStep operator()(const Add&) const { return {ScalarOp::add}; }
  ScalarStep operator()(const Sub&) const { return {ScalarOp::sub}; }
  ScalarStep operator()(const Mul&) const { return {ScalarOp::mul}; }
  ScalarStep operator()(const Div&) const { return {ScalarOp::div}; }
  ScalarStep operator()(const Maximum&) const { return {ScalarOp::maximum}; }
  ScalarStep operator()(const Scale& op) const {
    const auto factor = static_cast<float>(op.factor);
    if (arguments == 0) return {ScalarOp::constant, op.inverse ? 1 / factor : factor};
    return {op.inverse ? ScalarOp::scale_divide : ScalarOp::scale, factor};
  }
  ScalarStep operator()(const Relu&) const { return {ScalarOp::relu}; }
  ScalarStep operator()(const ReluBackward&) const { return {ScalarOp::relu_backward}; }
  ScalarStep operator()(const Gelu& op) const {
    return {op.form == Gelu::Form::erf ? ScalarOp::gelu_erf : ScalarOp::gelu_tanh};
  }
  ScalarStep operator()(const Silu&) const { return {ScalarOp::silu}; }
  ScalarStep operator()(const Sigmoid&) const { return {ScalarOp::sigmoid}; }
  ScalarStep operator()(const Tanh&) const { return {ScalarOp::tanh}; }
  ScalarStep operator()(const Erf&) const { return {ScalarOp::erf}; }
  ScalarStep operator()(const Exp&) const { return {ScalarOp::exp}; }
  ScalarStep operator()(const Log&) const { return {ScalarOp::log}; }
  ScalarStep operator()(const Sqrt&) const { return {ScalarOp::sqrt}; }
  ScalarStep operator()(const Rsqrt&) const { return {ScalarOp::rsqrt}; }
  ScalarStep operator()(const Softcap& op) const { return {ScalarOp::softcap, static_cast<float>(op.cap)}; }
  ScalarStep operator()(const Cast& op) const { return {ScalarOp::round, 0, false, op.rounds()}; }
  ScalarStep operator()(const Where&) const { return {ScalarOp::where}; }
  ScalarStep operator()(const MaskedFill& op) const {
    return {ScalarOp::masked_fill, static_cast<float>(round_to(dtype, op.value)), op.inverted};
  }
  template <class T>
  ScalarStep operator()(const T&) const {
    static_assert(T::info.op_class != OpClass::pointwise && T::info.op_class != OpClass::select);
    check(false, "scalar_step: the op is neither pointwise nor select");
    return {};
  }
};

constexpr size_t kBlock = 256;

}  // namespace

ScalarStep scalar_step(const Op& op, Dtype dtype, size_t arguments) {
  const ScalarStep step = std::visit(StepOf{dtype, arguments}, op);
  check(arguments == static_cast<size_t>(argument_count(step.op)), "scalar_step: wrong number of arguments");
  return step;
}

int argument_count(ScalarOp op) {
  int count = 0;
  with_function({op}, [&](auto arity, auto) { count = arity; });
  return count;
}

void run_step(const ScalarStep& step, const ScalarArguments& x, std::span<float> y) {
  if (step.op == ScalarOp::round) {
    std::copy_n(x[0], y.size(), y.data());
    return round_through(step.rounding, y);
  }
  const float *const a = x[0], *const b = x[1], *const c = x[2];
  const size_t count = y.size();
  float* const to = y.data();
  with_function(step, [=](auto arity, auto f) {
    for (size_t i = 0; i < count; ++i) {
      if constexpr (arity == 0) to[i] = f(0, 0, 0);
      if constexpr (arity == 1) to[i] = f(a[i], 0, 0);
      if constexpr (arity == 2) to[i] = f(a[i], b[i], 0);
      if constexpr (arity == 3) to[i] = f(a[i], b[i], c[i]);
    }
  });
}

void run_formula(const PointwiseFormula& formula, std::span<const std::vector<float>> operands,
                 std::span<float> y) {
  std::vector<ScalarStep> steps;
  for (const PointwiseStep& step : formula.steps) steps.push_back(scalar_step(step));
  std::vector<std::array<float, kBlock>> values(steps.size());
  for (size_t at = 0; at < y.size(); at += kBlock) {
    const size_t count = std::min(kBlock, y.size() - at);
    for (size_t s = 0; s < steps.size(); ++s) {
      ScalarArguments x{};
      const std::vector<int>& arguments = formula.steps[s].arguments;
      for (size_t i = 0; i < arguments.size(); ++i) {
        const int from = arguments[i];
        x[i] = from >= 0 ? values[static_cast<size_t>(from)].data()
                         : operands[static_cast<size_t>(-1 - from)].data() + at;
      }
      run_step(steps[s], x, std::span(values[s]).first(count));
    }
    std::copy_n(values.back().data(), count, y.data() + at);
  }
}

}  // namespace fusesmith::backends

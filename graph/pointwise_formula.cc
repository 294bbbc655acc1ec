#include "graph/pointwise_formula.h"

#include "graph/dtype.h"
#include "graph/expand.h"
#include "graph/graph.h"

namespace fusesmith::graph {
namespace {

// What the op makes of a number in a tensor of one element, as formulas write their constants.
std::optional<float> folded(const Op& op, std::optional<float> number) {
  if (const auto* range = std::get_if<Arange>(&op))
    return range->count == 1 ? std::optional(static_cast<float>(range->start)) : std::nullopt;
  if (!number) return {};
  if (const auto* scale = std::get_if<Scale>(&op)) {
    const auto factor = static_cast<float>(scale->factor);
    return scale->inverse ? *number / factor : *number * factor;
  }
  if (const auto* cast = std::get_if<Cast>(&op)) return static_cast<float>(round_to(cast->dtype, *number));
  return std::holds_alternative<Squeeze>(op) ? number : std::nullopt;
}

// Whether the node leaves every value as it is, if what reads it computes in f32.
bool widens(const Graph& formula, const Node& node) {
  return std::holds_alternative<Cast>(node.op) && is_float(formula.type(node.inputs[0]).dtype) &&
         formula.type(node.first_output).dtype == Dtype::f32;
}

// Makes the steps node by node.
class FormulaSteps {
 public:
  explicit FormulaSteps(const Graph& formula)
      : formula_(formula),
        numbers_(static_cast<size_t>(formula.value_count())),
        arguments_(static_cast<size_t>(formula.value_count())) {
    for (size_t i = 0; i < formula.inputs().size(); ++i) arguments_[i] = -1 - static_cast<int>(i);
  }

  std::optional<PointwiseFormula> make() {
    if (formula_.outputs().size() != 1) return {};
    const ValueId output = formula_.outputs()[0];
    for (const Node& node : formula_.nodes()) {
      const auto at = static_cast<size_t>(node.first_output);
      if (const auto number =
              folded(node.op, node.inputs.empty() ? std::nullopt : number_of(node.inputs[0]))) {
        numbers_[at] = number;
      } else if (!is_pointwise(node.op)) {
        return {};
      } else if (node.first_output == output && is_last_rounding(node)) {
        return std::move(made_);  // rounded where it is stored
      } else {
        arguments_[at] = widens(formula_, node) ? argument(node.inputs[0]) : add(node);
      }
    }
    if (made_.steps.empty() || argument(output) + 1 != static_cast<int>(made_.steps.size())) return {};
    return std::move(made_);
  }

 private:
  std::optional<float> number_of(ValueId value) const { return numbers_[static_cast<size_t>(value)]; }

  int argument(ValueId value) {
    std::optional<int>& known = arguments_[static_cast<size_t>(value)];
    if (!known) {
      known = static_cast<int>(made_.steps.size());
      made_.steps.push_back({Scale{*number_of(value)}, Dtype::f32, {}});
    }
    return *known;
  }

  int add(const Node& node) {
    PointwiseStep step{node.op, formula_.type(node.first_output).dtype, {}};
    for (const ValueId input : node.inputs) step.arguments.push_back(argument(input));
    made_.steps.push_back(std::move(step));
    return static_cast<int>(made_.steps.size()) - 1;
  }

  // A cast of the last step, to the op's dtype.
  bool is_last_rounding(const Node& node) {
    return std::holds_alternative<Cast>(node.op) && !made_.steps.empty() && !number_of(node.inputs[0]) &&
           arguments_[static_cast<size_t>(node.inputs[0])] == static_cast<int>(made_.steps.size()) - 1;
  }

  const Graph& formula_;
  std::vector<std::optional<float>> numbers_;  // by ValueId: a constant
  std::vector<std::optional<int>> arguments_;  // by ValueId: an operand or a step
  PointwiseFormula made_;
};

}  // namespace

std::optional<PointwiseFormula> pointwise_formula(const Op& op, TypeSpan inputs) {
  if (!is_defined(op)) return {};
  const auto formula = expansion(op, inputs);
  return FormulaSteps(*formula).make();
}

bool is_pointwise(const Op& op) {
  const OpClass op_class = info(op).op_class;
  return op_class == OpClass::pointwise || op_class == OpClass::select;
}

bool is_elementwise(const Op& op, TypeSpan inputs) {
  return is_pointwise(op) || pointwise_formula(op, inputs);
}

}  // namespace fusesmith::graph

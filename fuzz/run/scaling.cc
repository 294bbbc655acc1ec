// Scalings: the exponent of each value is a sum of exponents of the inputs, and ops ask for equalities among
// them: a system of linear equations, of which one solution is drawn.
#include <algorithm>
#include <cmath>

#include "fuzz/run/symmetry.h"

namespace fusesmith::fuzz {
namespace {

using Form = std::vector<double>;  // coefficients, by input

Form combined(const Form& a, double factor, const Form& b) {
  Form sum = a;
  for (size_t i = 0; i < sum.size(); ++i) sum[i] += factor * b[i];
  return sum;
}

// What each op does to exponents; one without an overload wants none and gives none.
class Exponents {
 public:
  explicit Exponents(const Graph& graph) : graph_(graph) {
    const size_t inputs = graph.inputs().size();
    for (size_t i = 0; i < inputs; ++i) {
      Form form(inputs, 0.0);
      if (is_float(graph.inputs()[i].type.dtype)) form[i] = 1;
      forms.push_back(form);
    }
    for (const Node& node : graph.nodes()) {
      node_ = &node;
      const Form form = std::visit(*this, node.op);
      for (int k = 0; k < node.output_count; ++k) forms.push_back(form);
      // The variance comes first.
      if (std::holds_alternative<VarMean>(node.op))
        forms[static_cast<size_t>(node.first_output)] = combined(form, 1, form);
    }
  }

  std::vector<Form> forms;      // by ValueId
  std::vector<Form> equations;  // = 0

  Form operator()(const Einsum&) { return combined(in(0), 1, in(1)); }
  Form operator()(const Matmul&) { return combined(in(0), 1, in(1)); }
  Form operator()(const Linear&) {
    const Form product = combined(in(0), 1, in(1));
    if (node_->inputs.size() > 2) equal(product, in(2));
    return product;
  }
  Form operator()(const Rope&) {
    equal(in(1), in(2));
    return combined(in(0), 1, in(1));
  }
  Form operator()(const Mul&) { return combined(in(0), 1, in(1)); }
  Form operator()(const Div&) { return combined(in(0), -1, in(1)); }
  Form operator()(const Sqrt&) { return combined(none(), 0.5, in(0)); }
  Form operator()(const Add&) { return all_equal(0); }
  Form operator()(const Sub&) { return all_equal(0); }
  Form operator()(const Maximum&) { return all_equal(0); }
  Form operator()(const Concat&) { return all_equal(0); }
  Form operator()(const Where&) { return all_equal(1); }
  Form operator()(const IndexCopy&) {
    equal(in(0), in(2));
    return in(0);
  }
  Form operator()(const MaskedFill& op) {
    if (op.value == 0 || std::isinf(op.value)) return in(0);
    equal(in(0), none());
    return none();
  }
  // Statistics see eps, which has its size; what is normalised is then weighted.
  Form operator()(const LayerNorm&) { return normalized(); }
  Form operator()(const GroupNorm&) { return normalized(); }
  Form operator()(const RmsNorm&) { return normalized(); }
  Form operator()(const Sdpa&) {  // the same scores
    equal(combined(in(0), 1, in(1)), none());
    if (node_->inputs.size() > 3) equal(in(3), none());
    return in(2);
  }
  Form operator()(const Scale&) { return in(0); }
  Form operator()(const Relu&) { return in(0); }
  Form operator()(const Cast&) { return in(0); }
  Form operator()(const ReduceSum&) { return in(0); }
  Form operator()(const ReduceMean&) { return in(0); }
  Form operator()(const ReduceMax&) { return in(0); }
  Form operator()(const VarMean&) { return in(0); }
  template <class T>
  Form operator()(const T&) {
    if (T::info.op_class == OpClass::movement) return in(0);
    for (size_t i = 0; i < node_->inputs.size(); ++i) equal(in(i), none());
    return none();
  }

 private:
  const Form& in(size_t i) const { return forms[static_cast<size_t>(node_->inputs[i])]; }
  Form none() const { return Form(graph_.inputs().size(), 0.0); }
  void equal(const Form& a, const Form& b) { equations.push_back(combined(a, -1, b)); }
  Form all_equal(size_t first) {
    for (size_t i = first + 1; i < node_->inputs.size(); ++i) equal(in(first), in(i));
    return in(first);
  }
  Form normalized() {
    equal(in(0), none());
    if (node_->inputs.size() < 2) return none();
    if (node_->inputs.size() > 2) equal(in(1), in(2));
    return in(1);
  }

  const Graph& graph_;
  const Node* node_ = nullptr;
};

constexpr double kZero = 1e-9;

// Brings the equations into reduced echelon form; returns which unknown each leads with.
std::vector<size_t> reduce(std::vector<Form>& equations, size_t unknowns) {
  std::vector<size_t> leads;
  for (size_t u = 0; u < unknowns && leads.size() < equations.size(); ++u) {
    const size_t row = leads.size();
    size_t best = row;
    for (size_t r = row; r < equations.size(); ++r) {
      if (std::fabs(equations[r][u]) > std::fabs(equations[best][u])) best = r;
    }
    const double lead = equations[best][u];
    if (std::fabs(lead) < kZero) continue;
    std::swap(equations[row], equations[best]);
    for (double& c : equations[row]) c /= lead;
    for (size_t r = 0; r < equations.size(); ++r) {
      if (r != row && equations[r][u] != 0)
        equations[r] = combined(equations[r], -equations[r][u], equations[row]);
    }
    leads.push_back(u);
  }
  return leads;
}

double value_of(const Form& form, const std::vector<double>& exponents) {
  double sum = 0;
  for (size_t i = 0; i < form.size(); ++i) sum += form[i] * exponents[i];
  return sum;
}

}  // namespace

std::optional<Scaling> draw_scaling(const Graph& graph, Choices& choices, int limit) {
  if (!graph.states().empty()) return std::nullopt;
  Exponents exponents(graph);
  const size_t inputs = graph.inputs().size();
  const std::vector<size_t> leads = reduce(exponents.equations, inputs);
  // Even, so that roots have whole exponents.
  std::vector<double> chosen(inputs, 0.0);
  for (size_t i = 0; i < inputs; ++i) chosen[i] = static_cast<double>(2 * choices.between(-1, 1));
  for (size_t row = leads.size(); row-- > 0;) {
    chosen[leads[row]] = 0;
    chosen[leads[row]] = -value_of(exponents.equations[row], chosen);
  }
  Scaling scaling;
  bool moves = false;
  for (const Form& form : exponents.forms) {
    const double exponent = value_of(form, chosen), whole = std::round(exponent);
    if (std::fabs(exponent - whole) > 1e-6 || std::fabs(whole) > limit) return std::nullopt;
    scaling.push_back(static_cast<int>(whole));
    moves |= whole != 0;
  }
  return moves ? std::optional(scaling) : std::nullopt;
}

}  // namespace fusesmith::fuzz

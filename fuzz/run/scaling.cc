// Scalings: the exponent of each value is a linear form in the exponents of the inputs, and ops demand
// equalities among them (graph/traits/scaling.h): a system of linear equations, of which one solution is
// drawn.
#include <algorithm>
#include <cmath>

#include "fuzz/run/symmetry.h"
#include "graph/op_traits.h"

namespace fusesmith::fuzz {
namespace {

// The form of every value, and the equations that must hold.
struct ScalingSystem {
  std::vector<LinearForm> forms;      // by ValueId; unknown i is the exponent of input i
  std::vector<LinearForm> equations;  // = 0
};

ScalingSystem scaling_system(const Graph& graph) {
  ScalingSystem system;
  const size_t inputs = graph.inputs().size();
  for (size_t i = 0; i < inputs; ++i) {
    LinearForm form(inputs, 0.0);
    if (is_float(graph.inputs()[i].type.dtype)) form[i] = 1;
    system.forms.push_back(form);
  }
  for (const Node& node : graph.nodes()) {
    std::vector<const LinearForm*> operands;
    Types types;
    for (ValueId v : node.inputs) {
      operands.push_back(&system.forms[static_cast<size_t>(v)]);
      types.push_back(graph.type(v));
    }
    ScalingNode about(inputs, std::move(operands), system.equations);
    for (LinearForm& form : scaling_of(node.op, about, types, static_cast<size_t>(node.output_count)))
      system.forms.push_back(std::move(form));
  }
  return system;
}

constexpr double kZero = 1e-9;

// Brings the equations into reduced echelon form; returns which unknown each leads with.
std::vector<size_t> reduce(std::vector<LinearForm>& equations, size_t unknowns) {
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

double value_of(const LinearForm& form, const std::vector<double>& exponents) {
  double sum = 0;
  for (size_t i = 0; i < form.size(); ++i) sum += form[i] * exponents[i];
  return sum;
}

}  // namespace

std::optional<Scaling> draw_scaling(const Graph& graph, Choices& choices, int limit) {
  if (!graph.states().empty()) return std::nullopt;
  ScalingSystem system = scaling_system(graph);
  const size_t inputs = graph.inputs().size();
  const std::vector<size_t> leads = reduce(system.equations, inputs);
  // Even, so that roots have whole exponents.
  std::vector<double> chosen(inputs, 0.0);
  for (size_t i = 0; i < inputs; ++i) chosen[i] = static_cast<double>(2 * choices.between(-1, 1));
  for (size_t row = leads.size(); row-- > 0;) {
    chosen[leads[row]] = 0;
    chosen[leads[row]] = -value_of(system.equations[row], chosen);
  }
  Scaling scaling;
  bool moves = false;
  for (const LinearForm& form : system.forms) {
    const double exponent = value_of(form, chosen), whole = std::round(exponent);
    if (std::fabs(exponent - whole) > 1e-6 || std::fabs(whole) > limit) return std::nullopt;
    scaling.push_back(static_cast<int>(whole));
    moves |= whole != 0;
  }
  return moves ? std::optional(scaling) : std::nullopt;
}

}  // namespace fusesmith::fuzz

#include "graph/formula_traits.h"

#include "graph/axis_classes.h"

namespace fusesmith::graph::formula_traits {
namespace {

Types types_of(const Graph& graph, std::span<const ValueId> values) {
  Types types;
  for (const ValueId v : values) types.push_back(graph.type(v));
  return types;
}

// The property of each value of the formula, given those of its operands. `of_node`, called with a node, the
// properties and the types of its inputs, returns the property of its outputs.
template <class Property, class OfNode>
std::vector<Property> along(const Graph& formula, std::span<const Property> operands, OfNode of_node) {
  std::vector<Property> all(operands.begin(), operands.end());
  for (const Node& node : formula.nodes()) {
    std::vector<Property> inputs;
    for (const ValueId v : node.inputs) inputs.push_back(all[static_cast<size_t>(v)]);
    const Property property =
        of_node(node, std::span<const Property>(inputs), types_of(formula, node.inputs));
    all.resize(all.size() + static_cast<size_t>(node.output_count), property);
  }
  return all;
}

// The operands and the results of a formula, numbered as AxisRelations numbers the tensors of a node.
std::vector<ValueId> outer_values(const Graph& formula) {
  std::vector<ValueId> values;
  for (ValueId v = 0; v < formula.source_count(); ++v) values.push_back(v);
  values.insert(values.end(), formula.outputs().begin(), formula.outputs().end());
  return values;
}

}  // namespace

// Every inner value is held at once.
Work work(const Graph& formula) {
  Work all;
  for (const Node& node : formula.nodes()) {
    const Work one = work_of(node.op, types_of(formula, node.inputs), formula.type(node.first_output));
    all.operations += one.operations;
    all.elements += one.elements;
  }
  return all;
}

Magnitude magnitude(const Graph& formula, std::span<const Magnitude> inputs) {
  const auto all =
      along(formula, inputs, [&](const Node& node, std::span<const Magnitude> in, const Types& types) {
        return magnitude_of(node.op, in, types, formula.type(node.first_output));
      });
  Magnitude largest{0, true, true};
  for (const ValueId output : formula.outputs()) {
    const Magnitude& own = all[static_cast<size_t>(output)];
    largest = {std::max(largest.rms, own.rms), largest.finite && own.finite,
               largest.one_signed && own.one_signed};
  }
  return largest;
}

std::optional<Grid> grid(const Graph& formula, std::span<const Grid> inputs) {
  using Found = std::optional<Grid>;
  const std::vector<Found> operands(inputs.begin(), inputs.end());
  const auto all =
      along<Found>(formula, operands, [&](const Node& node, std::span<const Found> in, const Types& types) {
        std::vector<Grid> grids;
        for (const Found& one : in) {
          if (!one) return Found();
          grids.push_back(*one);
        }
        return derived_grid(node.op, grids, types, formula.type(node.first_output));
      });
  Found joined;
  for (const ValueId output : formula.outputs()) {
    const Found& own = all[static_cast<size_t>(output)];
    if (!own) return std::nullopt;
    joined = joined ? grid_rules::joined(*joined, *own) : *own;
  }
  return joined;
}

OutputForms scaling(const Graph& formula, ScalingNode& node) {
  std::vector<LinearForm> forms;
  for (size_t i = 0; i < node.inputs(); ++i) forms.push_back(node.in(i));
  for (const Node& part : formula.nodes()) {
    std::vector<const LinearForm*> inputs;
    for (const ValueId v : part.inputs) inputs.push_back(&forms[static_cast<size_t>(v)]);
    ScalingNode inside = node.part(std::move(inputs));
    const auto outputs = static_cast<size_t>(part.output_count);
    for (LinearForm& form : scaling_of(part.op, inside, types_of(formula, part.inputs), outputs))
      forms.push_back(std::move(form));
  }
  OutputForms outputs;
  for (const ValueId output : formula.outputs()) outputs.push_back(forms[static_cast<size_t>(output)]);
  return outputs;
}

// Axes of operands and results run along with each other if those of the graph do.
void axis_relations(const Graph& formula, AxisRelations& axes) {
  const std::vector<ValueId> values = outer_values(formula);
  for (const AxisClass& all : axis_classes(formula)) {
    std::vector<TensorAxis> outer;
    for (const ValueAxis& axis : all.axes) {
      for (size_t tensor = 0; tensor < values.size(); ++tensor) {
        if (values[tensor] == axis.value) outer.push_back({tensor, axis.axis});
      }
    }
    for (const TensorAxis& axis : outer) {
      axes.unite(outer[0].tensor, outer[0].axis, axis.tensor, axis.axis);
      if (all.fixed) axes.fix(axis.tensor, axis.axis);
      if (all.tiled) axes.tile(axis.tensor, axis.axis);
    }
  }
}

}  // namespace fusesmith::graph::formula_traits

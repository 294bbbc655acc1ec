#include "graph/gradient.h"

#include <algorithm>
#include <map>
#include <set>

#include "graph/expand.h"
#include "graph/gradient_rules.h"
#include "graph/rebuild.h"

namespace fusesmith::graph {
namespace {

using namespace gradient_parts;

Result<Vars> gradients_from(size_t first_node, const Vars& outputs, const Vars& output_gradients,
                            const Vars& of);

// The nodes of a composite op's formula are added, and differentiated one by one.
Result<InputGradients> through_formula(const Graph& formula, const ForwardNode& node) {
  Builder& builder = node.in[0].builder();
  const size_t first_node = builder.nodes().size();
  Vars values = node.in;
  for (const Node& part : formula.nodes()) {
    std::vector<ValueId> inputs;
    for (const ValueId v : part.inputs) inputs.push_back(values[static_cast<size_t>(v)].value());
    const ValueId first = builder.node(part.op, inputs);
    for (int k = 0; k < part.output_count; ++k) values.emplace_back(builder, first + k);
  }
  Vars outputs;
  for (const ValueId v : formula.outputs()) outputs.push_back(values[static_cast<size_t>(v)]);
  const auto all = gradients_from(first_node, outputs, node.gradient, node.in);
  if (!all) return Problem{all.problem()};
  InputGradients result;
  std::vector<ValueId> seen;  // what is an operand twice has one gradient
  for (size_t i = 0; i < node.in.size(); ++i) {
    const ValueId value = node.in[i].value();
    const bool again = std::find(seen.begin(), seen.end(), value) != seen.end();
    seen.push_back(value);
    if (again || !is_float(builder.type(value).dtype))
      result.emplace_back();
    else
      result.emplace_back((*all)[i]);
  }
  return result;
}

Result<InputGradients> gradients_of_inputs(const Op& op, const ForwardNode& node) {
  Types types;
  for (const Var& operand : node.in) types.push_back(operand.builder().type(operand.value()));
  if (const auto formula = expansion(op, types)) return through_formula(in_reading_order(*formula), node);
  return input_gradients(op, node);
}

// Gradients of values, summed over their readers.
class Sums {
 public:
  void add(Var value, Var gradient) {
    const auto [place, is_new] = sums_.try_emplace(value.value(), gradient);
    if (!is_new) place->second = place->second + gradient;
  }
  bool has(ValueId value) const { return sums_.contains(value); }
  Var of(Var value) const {
    const auto found = sums_.find(value.value());
    return found == sums_.end() ? zeros(value.builder(), value.shape()) : found->second;
  }

 private:
  std::map<ValueId, Var> sums_;
};

// By value, whether it is one of `of` or follows from it through the nodes from this one on.
std::vector<bool> dependence(const Builder& builder, size_t first_node, const Vars& of) {
  std::vector<bool> depends(static_cast<size_t>(builder.value_count()), false);
  for (const Var& value : of) depends[static_cast<size_t>(value.value())] = true;
  for (size_t i = first_node; i < builder.nodes().size(); ++i) {
    const Node& node = builder.nodes()[i];
    bool any = false;
    for (const ValueId v : node.inputs) any = any || depends[static_cast<size_t>(v)];
    for (int k = 0; any && k < node.output_count; ++k)
      depends[static_cast<size_t>(node.first_output + k)] = true;
  }
  return depends;
}

// Passes the gradients of a node's outputs on to its inputs. The problem names the node's op.
std::optional<Problem> pass_through(Builder& builder, const Node& node, const std::vector<bool>& depends,
                                    Sums& sums) {
  ForwardNode forward;
  for (const ValueId v : node.inputs) forward.in.emplace_back(builder, v);
  for (int k = 0; k < node.output_count; ++k) {
    forward.out.emplace_back(builder, node.first_output + k);
    forward.gradient.push_back(sums.of(forward.out.back()));
  }
  const auto passed = gradients_of_inputs(node.op, forward);
  if (!passed) return Problem{std::string(name(node.op)) + ": " + passed.problem()};
  for (size_t i = 0; i < forward.in.size(); ++i) {
    const bool wanted = depends[static_cast<size_t>(forward.in[i].value())];
    if (wanted && (*passed)[i]) sums.add(forward.in[i], *(*passed)[i]);
  }
  return {};
}

Result<Vars> gradients_from(size_t first_node, const Vars& outputs, const Vars& output_gradients,
                            const Vars& of) {
  check(!outputs.empty() && outputs.size() == output_gradients.size(), "gradients: one for each output");
  Builder& builder = outputs[0].builder();
  const std::vector<bool> depends = dependence(builder, first_node, of);
  Sums sums;
  for (size_t i = 0; i < outputs.size(); ++i) sums.add(outputs[i], output_gradients[i]);
  for (size_t i = builder.nodes().size(); i-- > first_node;) {
    const Node node = builder.nodes()[i];  // a copy: nodes are added
    if (!depends[static_cast<size_t>(node.first_output)]) continue;
    bool reached = false;
    for (int k = 0; k < node.output_count; ++k) reached = reached || sums.has(node.first_output + k);
    if (!reached) continue;
    if (auto problem = pass_through(builder, node, depends, sums)) return *problem;
  }
  Vars result;
  for (const Var& value : of) result.push_back(sums.of(value));
  return result;
}

// "d_x" for the node that makes the gradient of the input x, unless the name is taken.
std::map<int, std::string> names_of_gradients(const Graph& forward, const Graph& backward) {
  std::map<int, std::string> names;
  size_t next = 0;
  for (const Input& input : forward.inputs()) {
    if (!is_float(input.type.dtype)) continue;
    const auto node = backward.producer(backward.outputs()[next++]);
    const std::string name = "d_" + input.name;
    const bool alone = node && backward.nodes()[static_cast<size_t>(*node)].output_count == 1;
    if (alone && !backward.find(name)) names[*node] = name;
  }
  return names;
}

}  // namespace

Result<Vars> gradients(const Vars& outputs, const Vars& output_gradients, const Vars& of) {
  return gradients_from(0, outputs, output_gradients, of);
}

Result<Graph> gradient_graph(const Graph& graph) {
  if (!graph.states().empty()) return Problem{"a graph with states has no gradient graph"};
  for (ValueId v = 0; v < graph.value_count(); ++v) {
    if (is_float(graph.type(v).dtype) && graph.type(v).dtype != Dtype::f32)
      return Problem{graph.name(v) + ": expected f32 values, got " + to_string(graph.type(v))};
  }
  Builder builder;
  Vars of, outputs, output_gradients;
  for (const Input& input : graph.inputs()) {
    const Var value{builder, builder.input(input)};
    if (is_float(input.type.dtype)) of.push_back(value);
  }
  for (const ValueId v : graph.outputs()) {
    if (!is_float(graph.type(v).dtype)) continue;
    const ValueId gradient = builder.input("d_" + graph.name(v), graph.type(v), Normal{});
    output_gradients.emplace_back(builder, gradient);
  }
  // The inputs for the gradients stand between the graph's inputs and its nodes.
  const int added = static_cast<int>(output_gradients.size());
  const auto moved = [&](ValueId v) { return v < graph.source_count() ? v : v + added; };
  for (const Node& node : graph.nodes()) {
    std::vector<ValueId> inputs;
    for (const ValueId v : node.inputs) inputs.push_back(moved(v));
    builder.node(node.op, inputs, node.name);
  }
  if (builder.failed()) return builder.build();
  for (const ValueId v : graph.outputs()) {
    if (is_float(graph.type(v).dtype)) outputs.emplace_back(builder, moved(v));
  }
  if (outputs.empty() || of.empty())
    return Problem{"a graph without float inputs or outputs has no gradient graph"};
  const auto all = gradients(outputs, output_gradients, of);
  if (!all) return Problem{all.problem()};
  std::set<ValueId> taken;  // an output is a node of its own
  for (Var gradient : *all) {
    if (gradient.value() < graph.source_count() + added || taken.contains(gradient.value()))
      gradient = apply(Cast{Dtype::f32}, {gradient});
    taken.insert(gradient.value());
    builder.output(gradient.value());
  }
  auto built = builder.build();
  if (!built) return built;
  return in_reading_order(*built, names_of_gradients(graph, *built));
}

}  // namespace fusesmith::graph

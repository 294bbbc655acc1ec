#include "graph/subgraph.h"

#include <algorithm>
#include <set>

namespace fusesmith::graph {

namespace {

constexpr size_t kMaxConstantNodes = 4;

const Node& node_of(const Graph& graph, int n) { return graph.nodes()[static_cast<size_t>(n)]; }

bool is_made_by(const Graph& graph, ValueId value, std::span<const int> nodes) {
  const auto producer = graph.producer(value);
  return producer && std::binary_search(nodes.begin(), nodes.end(), *producer);
}

// The nodes of a value that is made from attributes alone by few sources and movements; nothing for any other
// value.
std::optional<std::set<int>> constant_chain(const Graph& graph, ValueId value) {
  const auto producer = graph.producer(value);
  if (!producer) return std::nullopt;
  const Node& node = node_of(graph, *producer);
  const OpClass op_class = info(node.op).op_class;
  if (op_class != OpClass::source && op_class != OpClass::movement) return std::nullopt;
  std::set<int> chain = {*producer};
  for (ValueId v : node.inputs) {
    const auto before = constant_chain(graph, v);
    if (!before) return std::nullopt;
    chain.insert(before->begin(), before->end());
  }
  if (chain.size() > kMaxConstantNodes) return std::nullopt;
  return chain;
}

}  // namespace

Boundary boundary_of(const Graph& graph, std::span<const int> nodes) {
  Boundary boundary;
  std::vector<bool> is_read(static_cast<size_t>(graph.value_count())), is_read_outside(is_read);
  for (int n = 0; n < static_cast<int>(graph.nodes().size()); ++n) {
    const bool outside = !std::binary_search(nodes.begin(), nodes.end(), n);
    for (ValueId v : node_of(graph, n).inputs) {
      is_read[static_cast<size_t>(v)] = true;
      if (outside) is_read_outside[static_cast<size_t>(v)] = true;
    }
  }
  for (int n : nodes) {
    const Node& node = node_of(graph, n);
    for (ValueId v : node.inputs) {
      const bool known =
          std::find(boundary.inputs.begin(), boundary.inputs.end(), v) != boundary.inputs.end();
      if (!known && !is_made_by(graph, v, nodes)) boundary.inputs.push_back(v);
    }
    for (ValueId v = node.first_output; v < node.first_output + node.output_count; ++v) {
      const auto at = static_cast<size_t>(v);
      if (is_read_outside[at] || !is_read[at] || graph.is_observed(v)) boundary.outputs.push_back(v);
    }
  }
  return boundary;
}

std::vector<int> nodes_after(const Graph& graph, std::span<const ValueId> values) {
  std::vector<bool> reached(static_cast<size_t>(graph.value_count()), false);
  for (ValueId v : values) reached[static_cast<size_t>(v)] = true;
  std::vector<int> after;
  for (int n = 0; n < static_cast<int>(graph.nodes().size()); ++n) {
    const Node& node = node_of(graph, n);
    if (std::none_of(node.inputs.begin(), node.inputs.end(),
                     [&](ValueId v) { return reached[static_cast<size_t>(v)]; }))
      continue;
    after.push_back(n);
    for (int i = 0; i < node.output_count; ++i) reached[static_cast<size_t>(node.first_output + i)] = true;
  }
  return after;
}

std::vector<int> with_producers(const Graph& graph, std::span<const int> nodes) {
  std::set<int> grown(nodes.begin(), nodes.end());
  for (int n : nodes) {
    for (ValueId v : node_of(graph, n).inputs) {
      if (const auto producer = graph.producer(v)) grown.insert(*producer);
    }
  }
  return {grown.begin(), grown.end()};
}

std::optional<Subgraph> subgraph(const Graph& graph, std::span<const int> nodes,
                                 std::span<const ValueId> outputs,
                                 const std::function<std::optional<Source>(ValueId)>& source_of) {
  Subgraph part;
  Builder builder;
  std::vector<ValueId> ids(static_cast<size_t>(graph.value_count()), -1);  // in the subgraph
  const auto map = [&](ValueId whole, ValueId own) {
    ids[static_cast<size_t>(whole)] = own;
    part.in_whole.push_back(whole);
  };
  std::vector<std::pair<ValueId, Source>> states;
  for (ValueId v : boundary_of(graph, nodes).inputs) {
    auto source = source_of(v);
    if (!source) return std::nullopt;
    if (source->next)
      states.emplace_back(v, std::move(*source));
    else
      map(v, builder.input({graph.name(v), graph.type(v), std::move(source->fill), std::move(source->repeat),
                            graph.layout(v)}));
  }
  for (auto& [v, source] : states)
    map(v, builder.state({graph.name(v), graph.type(v), source.fill, -1, graph.layout(v)}));
  for (int n : nodes) {
    const Node& node = node_of(graph, n);
    std::vector<ValueId> inputs;
    for (ValueId v : node.inputs) inputs.push_back(ids[static_cast<size_t>(v)]);
    if (builder.failed()) return std::nullopt;
    const ValueId first = builder.node(node.op, std::move(inputs), node.name);
    for (int i = 0; i < node.output_count; ++i) map(node.first_output + i, first + i);
    part.nodes.push_back(n);
  }
  for (ValueId v : outputs) builder.output(ids[static_cast<size_t>(v)]);
  for (size_t s = 0; s < states.size(); ++s)
    builder.next_state(static_cast<int>(s), ids[static_cast<size_t>(*states[s].second.next)]);
  auto built = builder.build();
  if (!built) return std::nullopt;
  part.graph = std::move(*built);
  return part;
}

std::optional<Subgraph> subgraph_without_data(const Graph& graph, std::span<const int> nodes,
                                              ValueBits values) {
  const auto source_of = [&](ValueId v) -> std::optional<Source> {
    if (graph.is_input(v)) {
      const Input& input = graph.inputs()[static_cast<size_t>(v)];
      return Source{input.fill, {}, input.repeat};
    }
    if (graph.type(v).dtype != Dtype::i32) return Source{Constant{0}};  // never drawn
    const auto& bits = values[static_cast<size_t>(v)];
    return bits ? std::optional<Source>{{literal_of(*bits)}} : std::nullopt;
  };
  return subgraph(graph, nodes, boundary_of(graph, nodes).outputs, source_of);
}

std::optional<Case> extract_region(const Case& test_case, std::span<const int> nodes, ValueBits values) {
  const Graph& graph = test_case.graph;
  const int count = static_cast<int>(graph.nodes().size());
  const std::set<int> chosen(nodes.begin(), nodes.end());
  if (chosen.empty() || *chosen.begin() < 0 || *chosen.rbegin() >= count) return std::nullopt;
  const std::vector<int> region(chosen.begin(), chosen.end());
  const Boundary boundary = boundary_of(graph, region);
  std::set<int> kept = chosen;
  for (ValueId v : boundary.inputs) {
    if (const auto chain = constant_chain(graph, v)) kept.insert(chain->begin(), chain->end());
  }
  // Of a state that the region itself carries on: to a compiler it is not the same as an input.
  const auto next_value = [&](ValueId v) -> std::optional<ValueId> {
    if (!graph.is_state(v)) return std::nullopt;
    const ValueId next = graph.states()[static_cast<size_t>(v) - graph.inputs().size()].next;
    return is_made_by(graph, next, region) ? std::optional(next) : std::nullopt;
  };
  const auto source_of = [&](ValueId v) -> std::optional<Source> {
    const size_t at = static_cast<size_t>(v);
    if (graph.is_input(v) && test_case.steps == 1)
      return Source{graph.inputs()[at].fill, {}, graph.inputs()[at].repeat};
    if (at >= values.size() || !values[at] || values[at]->type != graph.type(v)) return std::nullopt;
    // The layout of an expanded input needs to know that its bits repeat.
    return Source{literal_of(*values[at]), next_value(v),
                  graph.is_input(v) ? graph.inputs()[at].repeat : Shape{}};
  };
  auto part = subgraph(graph, std::vector<int>(kept.begin(), kept.end()), boundary.outputs, source_of);
  if (!part) return std::nullopt;
  return Case{test_case.seed, 1, test_case.policy, std::move(part->graph), test_case.expect, {}};
}

}  // namespace fusesmith::graph

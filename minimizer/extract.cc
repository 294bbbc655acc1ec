#include "minimizer/extract.h"

#include <algorithm>
#include <set>

#include "minimizer/draft.h"

namespace fusesmith::minimizer {
namespace {

constexpr size_t kMaxConstantNodes = 4;

// The nodes of a value that is made from attributes alone by few sources and movements; nothing for any other
// value.
std::optional<std::set<int>> constant_chain(const Graph& graph, ValueId value) {
  const auto producer = graph.producer(value);
  if (!producer) return std::nullopt;
  const Node& node = graph.nodes()[static_cast<size_t>(*producer)];
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

class Extraction {
 public:
  Extraction(const Case& test_case, std::span<const int> nodes, std::span<const TensorBits> values)
      : case_(test_case),
        graph_(test_case.graph),
        whole_(draft_of(graph_)),
        values_(values),
        nodes_(nodes.begin(), nodes.end()) {}

  std::optional<Case> run() {
    observe();
    const std::set<int> region = nodes_;
    for (int n : region) {
      for (ValueId v : node(n).inputs) {
        if (!add_operand(v)) return std::nullopt;
      }
    }
    for (int n : nodes_) draft_.nodes.push_back(whole_.nodes[static_cast<size_t>(n)]);
    auto graph = build(std::move(draft_));
    if (!graph) return std::nullopt;
    return Case{case_.seed, 1, case_.policy, std::move(*graph), case_.expect, {}};
  }

 private:
  const Node& node(int n) const { return graph_.nodes()[static_cast<size_t>(n)]; }

  void observe() {
    const auto consumers = graph_.consumers();
    for (int n : nodes_) {
      for (ValueId v = node(n).first_output; v < node(n).first_output + node(n).output_count; ++v) {
        const auto& readers = consumers[static_cast<size_t>(v)];
        const bool outside =
            std::any_of(readers.begin(), readers.end(), [&](int r) { return nodes_.count(r) == 0; });
        if (outside || readers.empty() || graph_.is_observed(v)) draft_.outputs.push_back(graph_.name(v));
      }
    }
  }

  // Makes a value from outside the region available.
  bool add_operand(ValueId v) {
    const auto producer = graph_.producer(v);
    if ((producer && nodes_.count(*producer) > 0) || !added_.insert(v).second) return true;
    if (const auto chain = constant_chain(graph_, v)) {
      nodes_.insert(chain->begin(), chain->end());
      return true;
    }
    if (graph_.is_input(v) && case_.steps == 1) {
      draft_.inputs.push_back(graph_.inputs()[static_cast<size_t>(v)]);
      return true;
    }
    const size_t at = static_cast<size_t>(v);
    if (at >= values_.size() || !values_[at] || values_[at]->type != graph_.type(v)) return false;
    if (const auto next = next_value(v)) {
      draft_.states.push_back({graph_.name(v), graph_.type(v), literal_of(*values_[at]), -1});
      draft_.next.push_back(graph_.name(*next));
      return true;
    }
    draft_.inputs.push_back({graph_.name(v), graph_.type(v), literal_of(*values_[at])});
    return true;
  }

  // Of a state that the region itself carries on: to a compiler it is not the same as an input.
  std::optional<ValueId> next_value(ValueId v) const {
    if (!graph_.is_state(v)) return std::nullopt;
    const ValueId next = graph_.states()[static_cast<size_t>(v) - graph_.inputs().size()].next;
    const auto producer = graph_.producer(next);
    return producer && nodes_.count(*producer) > 0 ? std::optional(next) : std::nullopt;
  }

  const Case& case_;
  const Graph& graph_;
  const Draft whole_;
  std::span<const TensorBits> values_;
  std::set<int> nodes_;
  std::set<ValueId> added_;
  Draft draft_;
};

}  // namespace

std::optional<Case> extract_region(const Case& test_case, std::span<const int> nodes,
                                   std::span<const TensorBits> values) {
  const int count = static_cast<int>(test_case.graph.nodes().size());
  const auto valid = [&](int n) { return n >= 0 && n < count; };
  if (nodes.empty() || !std::all_of(nodes.begin(), nodes.end(), valid)) return std::nullopt;
  return Extraction(test_case, nodes, values).run();
}

std::vector<int> with_producers(const Graph& graph, std::span<const int> nodes) {
  std::set<int> grown(nodes.begin(), nodes.end());
  for (int n : nodes) {
    for (ValueId v : graph.nodes()[static_cast<size_t>(n)].inputs) {
      if (const auto producer = graph.producer(v)) grown.insert(*producer);
    }
  }
  return {grown.begin(), grown.end()};
}

}  // namespace fusesmith::minimizer

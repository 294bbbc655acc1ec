#include "minimizer/draft.h"

#include <algorithm>
#include <map>

namespace fusesmith::minimizer {
namespace {

template <class List>
std::optional<size_t> place(const List& list, const std::string& name) {
  const auto at = std::find_if(list.begin(), list.end(), [&](const auto& x) { return x.name == name; });
  if (at == list.end()) return std::nullopt;
  return static_cast<size_t>(at - list.begin());
}

bool is_source(const Draft& draft, const std::string& value) {
  return draft.input(value) || draft.state(value);
}

void clean_outputs(Draft& draft) {
  std::vector<std::string> outputs;
  for (const std::string& output : draft.outputs) {
    const bool twice = std::find(outputs.begin(), outputs.end(), output) != outputs.end();
    if (!twice && !is_source(draft, output)) outputs.push_back(output);
  }
  draft.outputs = std::move(outputs);
}

void prune(Draft& draft) {
  std::set<std::string> needed(draft.outputs.begin(), draft.outputs.end());
  needed.insert(draft.next.begin(), draft.next.end());
  std::vector<DraftNode> kept;
  for (size_t n = draft.nodes.size(); n-- > 0;) {
    DraftNode& node = draft.nodes[n];
    bool keep = draft.unread.count(node.name) > 0;
    for (int i = 0; i < node.output_count; ++i) keep = keep || needed.count(output_name(node, i)) > 0;
    if (!keep) continue;
    needed.insert(node.inputs.begin(), node.inputs.end());
    kept.push_back(std::move(node));
  }
  std::reverse(kept.begin(), kept.end());
  draft.nodes = std::move(kept);
  const auto unneeded = [&](const Input& input) { return needed.count(input.name) == 0; };
  draft.inputs.erase(std::remove_if(draft.inputs.begin(), draft.inputs.end(), unneeded), draft.inputs.end());
}

}  // namespace

std::string output_name(const DraftNode& node, int i) {
  return node.output_count == 1 ? node.name : node.name + "." + std::to_string(i);
}

std::optional<size_t> Draft::input(const std::string& name) const { return place(inputs, name); }
std::optional<size_t> Draft::state(const std::string& name) const { return place(states, name); }
std::optional<size_t> Draft::node(const std::string& name) const { return place(nodes, name); }

std::optional<size_t> Draft::producer(const std::string& value) const {
  for (size_t n = 0; n < nodes.size(); ++n) {
    for (int i = 0; i < nodes[n].output_count; ++i) {
      if (output_name(nodes[n], i) == value) return n;
    }
  }
  return std::nullopt;
}

Draft draft_of(const Graph& graph) {
  Draft draft{graph.inputs(), graph.states(), {}, {}, {}, {}};
  for (const State& state : graph.states()) draft.next.push_back(graph.name(state.next));
  for (ValueId v : graph.outputs()) draft.outputs.push_back(graph.name(v));
  const auto consumers = graph.consumers();
  for (const Node& node : graph.nodes()) {
    DraftNode copy{node.name, node.op, {}, node.output_count};
    for (ValueId v : node.inputs) copy.inputs.push_back(graph.name(v));
    draft.nodes.push_back(std::move(copy));
    bool unread = true;
    for (ValueId v = node.first_output; v < node.first_output + node.output_count; ++v) {
      unread = unread && consumers[static_cast<size_t>(v)].empty() && !graph.is_observed(v);
    }
    if (unread) draft.unread.insert(node.name);
  }
  return draft;
}

void replace_reads(Draft& draft, const std::string& from, const std::string& to) {
  for (DraftNode& node : draft.nodes) std::replace(node.inputs.begin(), node.inputs.end(), from, to);
  std::replace(draft.outputs.begin(), draft.outputs.end(), from, to);
  std::replace(draft.next.begin(), draft.next.end(), from, to);
}

std::optional<Graph> build(Draft draft) {
  clean_outputs(draft);
  prune(draft);
  Builder builder;
  std::map<std::string, ValueId> ids;
  for (Input& input : draft.inputs) ids[input.name] = builder.input(input);
  for (State& state : draft.states) ids[state.name] = builder.state(state);
  for (DraftNode& node : draft.nodes) {
    std::vector<ValueId> inputs;
    for (const std::string& input : node.inputs) {
      const auto at = ids.find(input);
      if (at == ids.end()) return std::nullopt;
      inputs.push_back(at->second);
    }
    const ValueId first = builder.node(std::move(node.op), std::move(inputs), node.name);
    if (builder.failed()) return std::nullopt;
    // An edit may have given the node an op with fewer outputs: those that it had are names of nothing then.
    const int made = builder.value_count() - first;
    for (int i = 0; i < std::min(made, node.output_count); ++i) ids[output_name(node, i)] = first + i;
  }
  for (const std::string& output : draft.outputs) {
    if (ids.count(output) == 0) return std::nullopt;
    builder.output(ids[output]);
  }
  for (size_t s = 0; s < draft.next.size(); ++s) {
    if (ids.count(draft.next[s]) == 0) return std::nullopt;
    builder.next_state(static_cast<int>(s), ids[draft.next[s]]);
  }
  auto graph = builder.build();
  if (!graph) return std::nullopt;
  return std::move(*graph);
}

}  // namespace fusesmith::minimizer

#include "graph/graph.h"

#include <algorithm>

namespace fusesmith::graph {
namespace {

// All values of a graph together hold at most this many elements (2^30: 4 GiB of f32).
constexpr int64_t kMaxTotalElements = int64_t{1} << 30;

bool valid_name(const std::string& name) {
  if (name.empty() || name.size() > 64) return false;
  return std::all_of(name.begin(), name.end(), [](char c) {
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '_' ||
           c == '.' || c == '/' || c == '-';
  });
}

}  // namespace

std::optional<int> Graph::producer(ValueId value) const {
  const int node = producers_[static_cast<size_t>(value)];
  return node < 0 ? std::nullopt : std::optional(node);
}

const std::optional<MemoryLayout>& Graph::layout(ValueId value) const {
  static const std::optional<MemoryLayout> none;
  if (is_input(value)) return inputs_[static_cast<size_t>(value)].layout;
  if (is_state(value)) return states_[static_cast<size_t>(value) - inputs_.size()].layout;
  return none;
}

bool Graph::is_observed(ValueId value) const {
  return std::find(outputs_.begin(), outputs_.end(), value) != outputs_.end() ||
         std::any_of(states_.begin(), states_.end(), [&](const State& s) { return s.next == value; });
}

std::vector<std::vector<int>> Graph::consumers() const {
  std::vector<std::vector<int>> readers(types_.size());
  for (size_t n = 0; n < nodes_.size(); ++n) {
    for (ValueId v : nodes_[n].inputs) readers[static_cast<size_t>(v)].push_back(static_cast<int>(n));
  }
  return readers;
}

std::optional<ValueId> Graph::find(const std::string& value_name) const {
  const auto at = std::find(names_.begin(), names_.end(), value_name);
  if (at == names_.end()) return std::nullopt;
  return static_cast<ValueId>(at - names_.begin());
}

// Most graphs are small: their lists are then allocated once.
Builder::Builder() {
  constexpr size_t kValues = 32;
  graph_.nodes_.reserve(kValues);
  graph_.types_.reserve(kValues);
  graph_.names_.reserve(kValues);
  graph_.producers_.reserve(kValues);
  indices_.reserve(kValues);
}

std::optional<ValueId> Builder::find(const std::string& name) const {
  const auto at = ids_.find(name);
  return at == ids_.end() ? std::nullopt : std::optional(at->second);
}

void Builder::fail(const std::string& place, const std::string& what) {
  if (!problem_) problem_ = Problem{place + ": " + what};
}

bool Builder::check_name(const std::string& name) {
  if (problem_) return false;
  if (!valid_name(name))
    fail("\"" + name.substr(0, 64) + "\"",
         "expected a name of 1 to 64 letters, digits, '_', '-', '.' or '/'");
  else if (ids_.count(name))
    fail(name, "expected every name once; this one is taken");
  return !problem_;
}

ValueId Builder::add_value(const std::string& name, TensorType type, int producer,
                           std::optional<IndexValues> indices) {
  const ValueId id = graph_.value_count();
  total_elements_ += element_count(type);
  if (total_elements_ > kMaxTotalElements)
    fail(name, "expected at most 2^30 elements in all values together");
  ids_.emplace(name, id);
  graph_.types_.push_back(std::move(type));
  graph_.names_.push_back(name);
  graph_.producers_.push_back(producer);
  indices_.push_back(indices);
  return id;
}

bool Builder::check_source(const std::string& name, const TensorType& type, const Fill& fill) {
  if (!check_name(name)) return false;
  if (!graph_.nodes_.empty()) fail(name, "expected inputs and states before all nodes");
  if (graph_.source_count() >= kMaxNodes) fail(name, "expected at most 4096 inputs and states");
  if (type.rank() > kMaxRank) fail(name, "expected rank 8 or less, got " + to_string(type));
  for (int64_t dim : type.shape) {
    if (dim < 1) fail(name, "expected dimensions of 1 or more, got " + to_string(type));
  }
  if (element_count(type) > kMaxElements)
    fail(name, "expected at most 2^27 elements, got " + to_string(type));
  if (problem_) return false;
  if (const auto problem = check_fill(fill, type)) fail(name, problem->what);
  return !problem_;
}

// Data repeats along the axes of `repeat`, and along all axes if it is constant.
bool Builder::check_memory(const std::string& name, const TensorType& type, const Fill& fill,
                           const Shape& repeat, const std::optional<MemoryLayout>& layout) {
  if (const auto problem = check_repeat(repeat, type)) fail(name, problem->what);
  if (problem_ || !layout) return !problem_;
  const bool constant = std::holds_alternative<Constant>(fill);
  if (const auto problem = check_layout(*layout, type, constant ? layout->expand : repeat))
    fail(name, "layout: " + problem->what);
  return !problem_;
}

ValueId Builder::input(std::string name, TensorType type, Fill fill) {
  return input(Input{std::move(name), std::move(type), std::move(fill)});
}

ValueId Builder::state(std::string name, TensorType type, Fill fill) {
  return state(State{std::move(name), std::move(type), std::move(fill)});
}

ValueId Builder::input(Input input) {
  const std::string name = input.name;
  TensorType type = input.type;
  if (!graph_.states_.empty()) fail(name, "expected inputs before states");
  if (!check_source(name, type, input.fill)) return 0;
  if (!check_memory(name, type, input.fill, input.repeat, input.layout)) return 0;
  std::optional<IndexValues> indices;
  if (type.dtype == Dtype::i32) indices = index_values(input.fill, type);
  graph_.inputs_.push_back(std::move(input));
  return add_value(name, std::move(type), -1, indices);
}

ValueId Builder::state(State state) {
  const std::string name = state.name;
  TensorType type = state.type;
  if (!check_source(name, type, state.fill)) return 0;
  if (state.layout && !state.layout->expand.empty()) fail(name, "layout: expected no expand for a state");
  if (!check_memory(name, type, state.fill, {}, state.layout)) return 0;
  state.next = -1;
  graph_.states_.push_back(std::move(state));
  return add_value(name, std::move(type), -1, std::nullopt);
}

void Builder::next_state(int state_index, ValueId value) {
  graph_.states_[static_cast<size_t>(state_index)].next = value;
}

ValueId Builder::node(Op op, std::vector<ValueId> inputs, std::string name) {
  if (name.empty()) {
    do
      name = std::string(graph::name(op)) + "_" +
             std::to_string(graph_.value_count() + (name.empty() ? 0 : 100000));
    while (ids_.count(name) && name.size() < 60);
  }
  if (!check_name(name)) return 0;
  if (graph_.nodes_.size() >= kMaxNodes) fail(name, "expected at most 4096 nodes");
  Types types;
  std::vector<std::optional<IndexValues>> known;
  types.reserve(inputs.size());
  known.reserve(inputs.size());
  for (ValueId v : inputs) {
    check(v >= 0 && v < graph_.value_count(), "Builder::node: input id out of range");
    types.push_back(type(v));
    known.push_back(indices_[static_cast<size_t>(v)]);
  }
  const auto outputs = infer(op, types);
  if (!outputs) fail(name, std::string(graph::name(op)) + " " + outputs.problem());
  if (problem_) return 0;
  if (const auto problem = index_problem(op, known, types))
    fail(name, std::string(graph::name(op)) + " " + problem->what);
  if (problem_) return 0;
  Node node{name, std::move(op), std::move(inputs), graph_.value_count(), static_cast<int>(outputs->size())};
  const int index = static_cast<int>(graph_.nodes_.size());
  for (int i = 0; i < node.output_count; ++i) {
    const std::string value_name = node.output_count == 1 ? name : name + "." + std::to_string(i);
    if (node.output_count > 1 && !check_name(value_name)) return 0;
    const TensorType& out = (*outputs)[static_cast<size_t>(i)];
    add_value(value_name, out, index, index_values(node.op, known, types, out));
  }
  graph_.nodes_.push_back(std::move(node));
  return graph_.nodes_.back().first_output;
}

Result<Graph> Builder::build() {
  if (outputs_.empty()) fail("outputs", "expected at least one output");
  for (const State& state : graph_.states_) {
    if (state.next < 0)
      fail(state.name, "expected a next value");
    else if (type(state.next) != state.type) {
      fail(state.name,
           "expected a next value of type " + to_string(state.type) + ", got " + to_string(type(state.next)));
    }
  }
  for (size_t i = 0; i < outputs_.size() && !problem_; ++i) {
    if (std::find(outputs_.begin(), outputs_.begin() + static_cast<std::ptrdiff_t>(i), outputs_[i]) !=
        outputs_.begin() + static_cast<std::ptrdiff_t>(i)) {
      fail("outputs", "expected every output once, got \"" + graph_.names_[static_cast<size_t>(outputs_[i])] +
                          "\" twice");
    }
  }
  if (problem_) return *problem_;
  graph_.outputs_ = outputs_;
  return graph_;
}

std::string to_string(const Graph& graph) {
  std::string text;
  for (const Input& input : graph.inputs()) {
    text += input.name + ": " + to_string(input.type) + " = " + std::string(name(input.fill)) + "\n";
  }
  for (const State& state : graph.states()) {
    text += state.name + ": " + to_string(state.type) + " state, next " + graph.name(state.next) + "\n";
  }
  for (const Node& node : graph.nodes()) {
    text += node.name + ": " + to_string(graph.type(node.first_output)) + " = " + to_string(node.op) + " of";
    for (ValueId v : node.inputs) text += " " + graph.name(v);
    text += "\n";
  }
  text += "outputs:";
  for (ValueId v : graph.outputs()) text += " " + graph.name(v);
  return text + "\n";
}

}  // namespace fusesmith::graph

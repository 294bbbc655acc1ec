// Graph: a value type in SSA form. The inputs of a node always precede it. Values may have any number of
// readers, and nodes several outputs. A Graph is created only by Builder::build, so every Graph in the
// program is valid and knows the type of every value.
#pragma once

#include <map>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "graph/index_values.h"
#include "graph/memory_layout.h"

namespace fusesmith::graph {

// Values are numbered: first the inputs, then the states (old values), then the outputs of each node in
// order.
using ValueId = int;

struct Input {
  std::string name;
  TensorType type;
  Fill fill;
  Shape repeat = {};  // axes along which all elements are those of index 0
  std::optional<MemoryLayout> layout = {};
  bool operator==(const Input&) const = default;
};

// A tensor carried from step to step. Nodes read the old value; `next` is the value that becomes the new
// one.
struct State {
  std::string name;
  TensorType type;
  Fill fill;  // for the first step
  ValueId next = -1;
  std::optional<MemoryLayout> layout = {};  // in every step; expands nothing
  bool operator==(const State&) const = default;
};

struct Node {
  std::string name;  // name of its output; "name.i" for output i of several
  Op op;
  std::vector<ValueId> inputs;
  ValueId first_output = 0;
  int output_count = 1;
  bool operator==(const Node&) const = default;
};

inline constexpr int kMaxNodes = 4096;  // also the limit for inputs and states

class Graph {
 public:
  const std::vector<Input>& inputs() const { return inputs_; }
  const std::vector<State>& states() const { return states_; }
  const std::vector<Node>& nodes() const { return nodes_; }
  const std::vector<ValueId>& outputs() const { return outputs_; }

  int value_count() const { return static_cast<int>(types_.size()); }
  const TensorType& type(ValueId value) const { return types_[static_cast<size_t>(value)]; }
  const std::string& name(ValueId value) const { return names_[static_cast<size_t>(value)]; }
  // The node that computes the value; empty for inputs and states.
  std::optional<int> producer(ValueId value) const;
  bool is_input(ValueId value) const { return value < static_cast<int>(inputs_.size()); }
  bool is_state(ValueId value) const { return !is_input(value) && value < source_count(); }
  int source_count() const { return static_cast<int>(inputs_.size() + states_.size()); }
  // Of an input or a state; none of any other value.
  const std::optional<MemoryLayout>& layout(ValueId value) const;
  // Whether the value is a graph output or a state's next value.
  bool is_observed(ValueId value) const;
  // For each value, the nodes that read it (a node is listed once for each time it reads it).
  std::vector<std::vector<int>> consumers() const;
  std::optional<ValueId> find(const std::string& name) const;

  bool operator==(const Graph&) const = default;

 private:
  friend class Builder;
  std::vector<Input> inputs_;
  std::vector<State> states_;
  std::vector<Node> nodes_;
  std::vector<ValueId> outputs_;
  std::vector<TensorType> types_;
  std::vector<std::string> names_;
  std::vector<int> producers_;
};

// Builds a graph in order: inputs and states first, then nodes. The first error is kept and returned by
// build(). After an error the add functions return value 0, so that callers need not check every step.
class Builder {
 public:
  Builder();
  ValueId input(std::string name, TensorType type, Fill fill);
  ValueId state(std::string name, TensorType type, Fill fill);
  ValueId input(Input input);
  ValueId state(State state);  // its `next` is not used
  // An empty name becomes the op's name and a number. Returns the id of the first output.
  ValueId node(Op op, std::vector<ValueId> inputs, std::string name = "");
  void output(ValueId value) { outputs_.push_back(value); }
  void next_state(int state_index, ValueId value);
  // Adds "place: " in front of the error, if there is one.
  Result<Graph> build();

  bool failed() const { return problem_.has_value(); }
  const std::string& problem() const { return problem_->what; }
  const TensorType& type(ValueId value) const { return graph_.types_[static_cast<size_t>(value)]; }
  int value_count() const { return graph_.value_count(); }
  const std::vector<Node>& nodes() const { return graph_.nodes_; }  // so far
  std::optional<ValueId> find(const std::string& name) const;
  const std::vector<std::string>& names() const { return graph_.names_; }  // of all values so far

 private:
  ValueId add_value(const std::string& name, TensorType type, int producer,
                    std::optional<IndexValues> indices);
  bool check_name(const std::string& name);
  bool check_source(const std::string& name, const TensorType& type, const Fill& fill);
  bool check_memory(const std::string& name, const TensorType& type, const Fill& fill, const Shape& repeat,
                    const std::optional<MemoryLayout>& layout);
  void fail(const std::string& place, const std::string& what);

  Graph graph_;
  std::vector<ValueId> outputs_;
  std::map<std::string, ValueId> ids_;
  std::vector<std::optional<IndexValues>> indices_;  // what is known of i32 values
  std::optional<Problem> problem_;
  int64_t total_elements_ = 0;
};

// One line of text for each input, state and node.
std::string to_string(const Graph& graph);

}  // namespace fusesmith::graph

// MatchContext: what matchers can query about a graph. It implements the legality rule that all patterns
// share: an inner value of a match has exactly one reader and is no output.
#pragma once

#include <optional>
#include <string_view>
#include <variant>
#include <vector>

#include "backends/backend.h"
#include "graph/graph.h"

namespace fusesmith::backends {

// Guards of every pattern that has inner values.
inline constexpr std::string_view kSecondReader = "second_reader", kObserved = "observed";

class MatchContext {
 public:
  // All arguments must outlive the context.
  MatchContext(const Graph& graph, const CompileOptions& options, const Arithmetic& arithmetic);

  const Graph& graph() const { return graph_; }
  const Node& node(int n) const { return graph_.nodes()[static_cast<size_t>(n)]; }
  const Shape& shape(ValueId value) const { return graph_.type(value).shape; }
  Types input_types(int n) const {
    Types types;
    for (const ValueId v : node(n).inputs) types.push_back(graph_.type(v));
    return types;
  }
  ValueId output(int n) const { return node(n).first_output; }

  // Whether the pattern is turned on.
  bool enabled(std::string_view pattern) const;
  const Faults& faults() const { return options_.faults; }
  const Arithmetic& arithmetic() const { return arithmetic_; }  // of the executor

  bool is_free(int n) const { return group_[static_cast<size_t>(n)] < 0; }
  void claim(const std::vector<int>& nodes);
  // Whether the nodes can form one region: no path leaves them and returns, also through nodes that are
  // already claimed. Always true if only the value of the last node leaves the region.
  bool can_run_together(const std::vector<int>& nodes) const;

  // For a matcher that recognised its pattern but must reject it: records the guard and returns "no
  // match": `return context.refuse("second_reader");`. Counted only if no other reading of the node
  // matches.
  std::nullopt_t refuse(std::string_view guard) const {
    refusals_.push_back(guard);
    return std::nullopt;
  }
  // The guards recorded since the last call, each once.
  std::vector<std::string_view> take_refusals() const;

  // Whether the value is read exactly once and is neither a graph output nor a state's next value.
  bool is_inner(ValueId value) const;
  // For a value that is not inner: the guard that says why, kSecondReader or kObserved.
  std::string_view outer_guard(ValueId value) const {
    return consumers(value).size() > 1 ? kSecondReader : kObserved;
  }
  const std::vector<int>& consumers(ValueId value) const { return consumers_[static_cast<size_t>(value)]; }
  // The unclaimed node that is the only reader of an inner value.
  std::optional<int> sole_consumer(ValueId value) const;
  // The unclaimed node that computes an inner value.
  std::optional<int> inner_producer(ValueId value) const;

  // The op of a node if it is a T, otherwise null.
  template <class T>
  const T* op_as(int n) const {
    return std::get_if<T>(&node(n).op);
  }
  // Like inner_producer, if its op is a T.
  template <class T>
  std::optional<int> inner_producer_as(ValueId value) const {
    const auto n = inner_producer(value);
    return n && op_as<T>(*n) ? n : std::nullopt;
  }

 private:
  const Graph& graph_;
  const CompileOptions& options_;
  const Arithmetic& arithmetic_;
  std::vector<std::vector<int>> consumers_;
  std::vector<int> group_;  // by node: the claim that contains it, or -1
  int groups_ = 0;
  mutable std::vector<std::string_view> refusals_;
};

}  // namespace fusesmith::backends

// Draft: a graph taken apart so that it can be edited. Values are known by name, because names survive every
// edit (and data is drawn by name); build() puts a draft together again through Builder, so that a wrong edit
// gives nothing, never a broken graph.
#pragma once

#include <optional>
#include <set>
#include <string>
#include <vector>

#include "graph/graph.h"

namespace fusesmith::minimizer {

struct DraftNode {
  std::string name;
  Op op;
  std::vector<std::string> inputs;
  int output_count = 1;
};

// The name of output i of a node, as Node says.
std::string output_name(const DraftNode& node, int i);

struct Draft {
  std::vector<Input> inputs;
  std::vector<State> states;      // their `next` is not used
  std::vector<std::string> next;  // of each state
  std::vector<DraftNode> nodes;
  std::vector<std::string> outputs;
  std::set<std::string> unread;  // nodes that nothing reads in the original graph: only DropNode removes them

  // Places in their lists, or nothing.
  std::optional<size_t> input(const std::string& name) const;
  std::optional<size_t> state(const std::string& name) const;
  std::optional<size_t> node(const std::string& name) const;
  // The node that computes this value.
  std::optional<size_t> producer(const std::string& value) const;
};

Draft draft_of(const Graph& graph);

// Every read of `from`, by nodes, outputs and states, reads `to` instead.
void replace_reads(Draft& draft, const std::string& from, const std::string& to);

// Removes what no output, no next state and no unread node needs; outputs that are not computed any more
// (they became inputs) or stand twice are removed first. Then builds. Nothing when the result is not a valid
// graph.
std::optional<Graph> build(Draft draft);

}  // namespace fusesmith::minimizer

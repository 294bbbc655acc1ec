// Plan and trace: how a backend cut a graph into regions, and the bits it left at every region's outputs.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "graph/graph.h"
#include "oracle/contract.h"

namespace fusesmith {

// Some nodes computed together. Regions stand in the order in which they run; together they cover every node
// once.
struct Region {
  std::vector<int> nodes;       // in graph order
  std::vector<ValueId> inputs;  // values from outside that the nodes read, each once, in order of first use
  std::vector<ValueId>
      outputs;  // values that stand in memory afterwards: all that are read outside or observed
  std::vector<std::string>
      patterns;  // that formed it; empty: a single unfused node. The first is the one to blame.
  Contract contract;
};

struct Plan {
  std::vector<Region> regions;
};

// The region of these nodes, with inputs and outputs filled in (`nodes` in graph order).
Region make_region(const Graph& graph, std::vector<int> nodes);

using TensorPtr = std::shared_ptr<const Tensor>;

// By ValueId: every input, state and region output of one step; null where a value never reached memory.
struct Trace {
  std::vector<TensorPtr> values;
};

}  // namespace fusesmith

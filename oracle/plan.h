// Plan and trace: how a backend cut a graph into regions, and the bits it left at every region's outputs.
#pragma once

#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "graph/graph.h"
#include "oracle/contract.h"

namespace fusesmith::oracle {

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

// A rewrite that was recognised but not made, because one of the pattern's guards does not hold.
struct Refusal {
  std::string pattern, guard;
  int node = 0;
  bool operator==(const Refusal&) const = default;
};

struct Plan {
  std::vector<Region> regions;
  std::vector<Refusal> refusals;
};

// The region of these nodes, with inputs and outputs filled in (`nodes` in graph order).
Region make_region(const Graph& graph, std::vector<int> nodes);

using TensorPtr = std::shared_ptr<const Tensor>;

// By ValueId: every input, state and region output of one step; null where a value never reached memory.
struct Trace {
  std::vector<TensorPtr> values;
};

// What a second look at one execution showed: a defect that needs no bound.
struct Disagreement {
  enum class Kind : uint8_t {
    guard,       // a write outside every tensor
    poison,      // the result depends on what memory held before
    repeat,      // the same run again gave other bits
    production,  // memory used again and several streams gave other bits
    source,      // an input or a state does not hold any more what the run was given
    scaling,     // inputs scaled by powers of two did not scale the values so
    exchange,    // inputs exchanged along a batch axis did not exchange the values so
  };
  Kind kind = Kind::repeat;
  size_t region = 0;  // the first one that disagrees
  ValueId value = -1;
  int64_t element = 0;
  double first = 0, second = 0;  // that element in both runs; or what it must be, and what it is
};

// The first region in the plan's order that left other bits in one trace than in the other, on its first
// element that differs.
std::optional<Disagreement> first_difference(Disagreement::Kind kind, const Plan& plan, const Trace& first,
                                             const Trace& second);
// The first input or state that the trace does not hold as it was `given`: what made a state's next value
// from it is to blame, else whatever read it first.
std::optional<Disagreement> overwritten_source(const Graph& graph, const Plan& plan,
                                               std::span<const TensorPtr> given, const Trace& trace);

}  // namespace fusesmith::oracle

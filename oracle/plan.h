// Plan and trace: how a backend divides a graph into regions, and the bits that the regions stored.
#pragma once

#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "graph/graph.h"
#include "oracle/contract.h"

namespace fusesmith::oracle {

// Nodes that are computed together. A plan lists its regions in execution order; together they contain every
// node of the graph exactly once.
struct Region {
  std::vector<int> nodes;  // in graph order
  // Values from outside the region that its nodes read, each once, in order of first use.
  std::vector<ValueId> inputs;
  // Values that are stored in memory: all that other regions read or that are graph outputs.
  std::vector<ValueId> outputs;
  // Of its inputs that have a layout: those that its kernel reads by their strides, and those that are copied
  // to dense memory first.
  std::vector<ValueId> strided, copied;
  // The patterns that formed the region, of which the first one is reported. Empty: a single unfused node.
  std::vector<std::string> patterns;
  Contract contract;
  // The arithmetic of one of its nodes says that sums are added in another order in each run.
  bool order_varies = false;
};

// That of the op's nodes, as the contract says.
const Arithmetic& arithmetic_for(const Contract& contract, const Op& op);
bool order_varies(const Graph& graph, const Region& region);

// A rewrite that was recognised but rejected, because one of the pattern's guards does not hold.
struct Refusal {
  std::string pattern, guard;
  int node = 0;
  bool operator==(const Refusal&) const = default;
};

struct Plan {
  std::vector<Region> regions;
  std::vector<Refusal> refusals;
};

// The region of these nodes, with inputs and outputs filled in (`nodes` in graph order). All inputs that have
// a layout are copied.
Region make_region(const Graph& graph, std::vector<int> nodes);

using TensorPtr = std::shared_ptr<const Tensor>;

// By ValueId: every input, state and region output of one step. Null where a value was never stored.
struct Trace {
  std::vector<TensorPtr> values;
};

// A difference between two runs of the same program: a defect that needs no bound.
// Elements of a row from number `first` of the value on, the one that differs among them, in both runs. Empty
// where the runs have no such row in common.
struct BothRuns {
  int64_t first = 0;
  std::vector<double> before, after;
};

struct Disagreement {
  enum class Kind : uint8_t {
    guard,       // a write outside every tensor
    poison,      // the result depends on memory that the run did not write
    repeat,      // a second run gave different bits
    production,  // the run with reused memory and several streams gave different bits
    source,      // an input or a state was overwritten
    scaling,     // values were not scaled with the inputs
    exchange,    // values were not exchanged with the inputs
    isolation,   // values changed with inputs that they are not computed from
    subset,      // values changed with the number of rows that are computed
  };
  Kind kind = Kind::repeat;
  size_t region = 0;  // the first region that differs
  ValueId value = -1;
  int64_t element = 0;
  double first = 0, second = 0;  // this element in both runs
  std::string change = {};       // of the inputs between them, where they were changed
  BothRuns row = {};
};

// The first region, in execution order, whose outputs differ between the traces, at its first differing
// element. Of repeated runs, not one whose order of sums varies, nor one that reads other bits because of it.
std::optional<Disagreement> first_difference(Disagreement::Kind kind, const Plan& plan, const Trace& first,
                                             const Trace& second);
// Whether an output of the region has other bits in the second trace.
bool differs(const Region& region, const Trace& first, const Trace& second);
// A write beside the elements of an input or a state, in the region that the next function would report.
Disagreement written_around(const Graph& graph, const Plan& plan, ValueId source);
// The first input or state that differs from what was `given`. The reported region is the one that
// computes the state's next value, otherwise the first one that reads it.
std::optional<Disagreement> overwritten_source(const Graph& graph, const Plan& plan,
                                               std::span<const TensorPtr> given, const Trace& trace);

}  // namespace fusesmith::oracle

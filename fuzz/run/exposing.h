// Exposing inner values of opaque programs. A compiled graph that a worker returns as one region has a bound
// that grows with its depth, until it says nothing. If some of its inner values are outputs as well, the
// program divides into several regions, each of which is judged on the inner values that it really got. More
// outputs change what a compiler fuses, so that the program judged is not quite the one of the case.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "backends/backend.h"
#include "fuzz/run/run_case.h"

namespace fusesmith::fuzz {

// Inner values to expose: those that several nodes read, and the results of products, reductions, norms and
// composite ops, in the graph's order. Not those that are observed already, and none that is made by a cast
// to a narrower dtype: a compiler may hand on what was cast, and the case is to tell that from a rounding. Of
// more than `most`, those without which the regions become largest.
std::vector<ValueId> values_to_expose(const Graph& graph, int64_t most);
// All that can be exposed: not what is observed already, or made by a cast to a narrower dtype.
std::vector<ValueId> all_inner_values(const Graph& graph);

// The case with these values as further outputs. Values keep their numbers.
Case expose(const Case& test_case, std::span<const ValueId> values);

// The plan of a program that is one region, divided wherever a value is observed: values that are not stay
// inside a region with all that reads them. A region may read a value of another one before its rounding,
// which is declared. Regions that would need results of each other are one.
Plan divide(const Graph& graph, const Plan& whole);

// The program with its plan divided; unchanged unless it is one region of several nodes without a pattern.
std::unique_ptr<Program> divided(const Graph& graph, std::unique_ptr<Program> program);
bool is_divided(const Program& program);

// Whether a backend of this name returns what a graph has as outputs: those of ours return every value
// anyway.
bool can_expose(std::string_view backend);

// The coarsest resolution with which a backend of this name is right: kCoarsest for workers, whose contracts
// are guesses about code of others, and none for backends of ours.
double coarsest_resolution(std::string_view backend);
// Whether a backend of this name runs code of others.
bool is_foreign(std::string_view backend);

// What the judge is given of a program of this backend. Refers to the plan and the trace.
Execution execution_of(const std::string& backend, const Plan& plan, const Trace& trace);

// Whether the verdict is inconclusive for such a backend, whose program is one region of several nodes.
bool is_opaque(const CaseRun& run);

// The failing region of a divided program as a case of its own, on the inputs that it got. A compiler may
// have computed these inputs a second time instead of reading them, so the finding stands only if this case
// fails. Nothing if the finding needs no such proof: it is about no region, or does not rest on a bound.
struct Part {
  std::optional<Case> test_case;  // empty: it cannot be taken out of the graph
};
std::optional<Part> part_to_confirm(const Case& test_case, const CaseRun& run);

}  // namespace fusesmith::fuzz

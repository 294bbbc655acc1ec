// Isolation: elements of the inputs are replaced along one axis, at one place or a few, by NaN, infinities or
// other numbers. What no correct executor computes from them must keep its bits: the same kernels run on the
// same shapes, and nothing changes in the rows beside them. No contract is asked. Bugs of this kind:
// vllm#40047, flashinfer#3057, kernels-community#1153.
#pragma once

#include <optional>
#include <string>

#include "fuzz/run/metamorphic.h"
#include "fuzz/run/reach.h"
#include "graph/case.h"
#include "graph/replacement.h"

namespace fusesmith::fuzz {

// Of a graph without states; nothing where no float input has an axis of two elements or more. `foreign`: an
// executor that may hide keys by adding -inf to their scores, so that what masks hide has to stay finite.
std::optional<Replacement> draw_replacement(const Graph& graph, bool foreign, Choices& choices);

struct Replaced {
  Inputs inputs;
  // "NaN in x[:,3,:], mask[3,:]"; places as numpy writes them.
  std::string change;
};

// Of the input that the replacement names, and of all that share its axis.
Replaced replaced_inputs(const Graph& graph, const Inputs& inputs, const Replacement& replacement);

// What the policy of a case names as replaced; nothing where it names nothing, or the graph has states.
std::optional<Replaced> replaced_by_policy(const Case& test_case, const Inputs& inputs);

// Whether an output of the plan has elements that are not reached.
bool leaves_any(const Plan& plan, const Reach& reach);

// Runs the program on the replaced inputs, and again on both where an element is not the same: `before` is
// its trace of the inputs as they were. Nothing is compared where a worker
// refuses the replaced inputs by an exception. A program that gives other bits then is not isolated nor
// deterministic, and nothing is reported here.
MetamorphicCheck check_isolation(Program& program, const Graph& graph, const Trace& before,
                                 const Replaced& replaced, const Reach& reach);

}  // namespace fusesmith::fuzz

// The metamorphic checks that a case asks for in its policy, after its judgement.
#pragma once

#include "fuzz/run/run_case.h"
#include "graph/replacement.h"

namespace fusesmith::fuzz {

// Makes the checks on both backends, on the inputs of the step that the run shows, and counts them in
// `run.metamorphic`. What does not follow makes the verdict a `defect` of its region. The changes of the
// inputs are drawn from the case's seed: the same case gives the same result. Nothing is checked where the
// verdict is a finding already, and in graphs with states or stand-ins.
//
// `compile`: a program for a graph on one of the run's backends, null where it cannot.
using CompilePart = std::function<std::unique_ptr<Program>(const Graph& graph, BackendRole role)>;
void check_metamorphic(const Case& test_case, const CompilePart& compile, CaseRun& run);

// What the check isolation replaces: as the policy says, or drawn; nothing where no input has such an axis.
// `verdict` names the backends, of which workers get other data (draw_replacement).
std::optional<Replacement> replacement_of(const Case& test_case, const Verdict& verdict);

}  // namespace fusesmith::fuzz

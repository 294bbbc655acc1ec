// Which attributes of two definitions make them differ: where one node stands in for another of the same op,
// each attribute in which they differ is taken over by itself, and what is left of the difference counted.
#pragma once

#include <nlohmann/json_fwd.hpp>
#include <string>
#include <vector>

#include "backends/backend.h"
#include "fuzz/run/difference.h"
#include "fuzz/run/run_case.h"

namespace fusesmith::fuzz {

// "old" with some attributes of what stands in for it.
struct Takeover {
  std::vector<std::string> attributes;  // "scale_on=both"; empty: as the graph says
  Difference left;                      // between its bits and those of the stand-in
};

struct DefinitionDifference {
  StandIn pair;
  std::vector<Takeover> takeovers;  // none, each one alone, and, of several, all
};

// For every stand-in whose two nodes are of one op and read the same values, run by the candidate on the
// inputs that the judged step got. `backend` is the candidate. Empty for a run without programs.
std::vector<DefinitionDifference> definition_differences(const Case& test_case, const CaseRun& run,
                                                         const Backend& backend, const RunOptions& options);

// A line for each stand-in, and its table; empty where there is none.
std::string stand_in_text(const Case& test_case, const std::vector<DefinitionDifference>& differences);
nlohmann::ordered_json to_json(const std::vector<DefinitionDifference>& differences);

}  // namespace fusesmith::fuzz

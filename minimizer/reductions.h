// Reductions propose edits as data; one engine (minimizer/minimize.h) applies, decides and verifies. To add
// one: a file under reductions/, a line in reductions/list.h and one in reductions.cc, a test.
#pragma once

#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "minimizer/edit.h"

namespace fusesmith::minimizer {

// What one query of a failing case said.
struct Probe {
  std::string signature;  // names the finding
  std::vector<std::shared_ptr<const Tensor>>
      values;                     // the candidate's trace, by ValueId; may be empty, or null in places
  std::vector<int> guilty_nodes;  // of the region to blame; may be empty
};

// What a reduction may look at.
struct Situation {
  const Case& test_case;
  const Probe& probe;                          // of this case
  std::span<const std::string> pattern_names;  // those that could be skipped
};

struct Reduction {
  std::string_view name;
  std::string_view doc;  // one line
  // Lists of edits to try, the biggest steps first. Each list is one candidate.
  std::vector<Edits> (*propose)(const Situation&);
};

// In the order in which the engine runs them: the steps that save the most time first.
std::span<const Reduction> all_reductions();

}  // namespace fusesmith::minimizer

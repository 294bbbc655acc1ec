// Reductions propose edits as data. One engine (minimizer/minimize.h) applies them, and accepts or rejects
// the result. docs/adding.md shows how to add a reduction.
#pragma once

#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "minimizer/edit.h"

namespace fusesmith::minimizer {

// The result of judging a case that fails.
struct Probe {
  std::string signature;  // of the finding
  // The candidate's trace, by ValueId. May be empty; elements may be null.
  std::vector<std::shared_ptr<const Tensor>> values;
  std::vector<int> failing_nodes;  // of the region that fails; may be empty
};

// What a reduction may look at.
struct Situation {
  const Case& test_case;
  const Probe& probe;  // of this case
};

struct Reduction {
  std::string_view name;
  std::string_view doc;  // one line
  // Lists of edits to try, the biggest steps first. Each list is one candidate.
  std::vector<Edits> (*propose)(const Situation&);
  // Whether nodes, attributes, axes and names stay: only sizes, dtypes, data, layouts and the policy change.
  bool keeps_graph = false;
  bool changes_sizes = false;
};

// One for each line of the list.
#define REDUCTION(name) extern const Reduction name;
#include "minimizer/reductions/list.def"
#undef REDUCTION

// All of the list, in its order.
std::span<const Reduction> all_reductions();

}  // namespace fusesmith::minimizer

// The neighbours of a failing case: cases that differ from it in one size, dtype, attribute or op, or in how
// large the data of an input is. Those that pass often say where the mistake is: "17 fails, 16 passes".
#pragma once

#include <functional>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "graph/case.h"
#include "minimizer/magnitudes.h"
#include "minimizer/size_rule.h"

namespace fusesmith::minimizer {

enum class Outcome {
  fails,        // in the same way, but for the dtype
  fails_alike,  // the same rewrite gives wrong values too, of another kind: NaN in place of a wrong number
  passes,
  not_applied,  // passes, but the rewrite that fails is not applied to it
  other,        // fails in another way, or cannot be judged
};
using Trial = std::function<Outcome(const Case&)>;

struct SizeNeighbours {
  // That have this size, "x axis 1"; several where the case fails only while they are equal.
  std::vector<std::string> axes;
  int64_t size = 0;    // in the case, where it fails
  SizeOutcomes tried;  // sizes that fail or pass, this size among them
  std::set<int64_t> not_applied;
  std::optional<SizeRule>
      rule;  // for which of the sizes tried it fails; held with other data where some pass
  bool depends_on_data = false;  // sizes that fail pass with most other data, or such sizes fail that passed

  // The passing size closest to the case's.
  std::optional<int64_t> nearest_passing() const;
};

struct ChoiceNeighbours {
  std::string what;   // "dtype", "alignment of causal_mask0", "op of add0"
  std::string value;  // in the case
  std::vector<std::string> failing = {}, passing = {}, not_applied = {};  // other values
};

struct Neighbours {
  std::vector<SizeNeighbours> sizes;
  std::vector<ChoiceNeighbours> choices;
  std::vector<MagnitudeRule> magnitudes;  // of inputs of which it decides
  int64_t queries = 0;
  double seconds = 0;
  bool exhausted = false;            // stopped by a limit: some were not tried
  std::vector<std::string> untried;  // what was not tried then, or only with a few values: "q axis 1"
};

struct NeighbourOptions {
  int64_t max_queries = 2000;
  double max_seconds = 3;
  int64_t max_elements = 1 << 18;  // of a neighbour; or twice those of the case
  bool fixed_graph = false;        // only other sizes, dtypes and data: as of MinimizeOptions
  bool keep_sizes = false;         // no other sizes: as of MinimizeOptions
  std::vector<std::string> keep_data =
      {};  // inputs of which no other magnitude is tried: as of MinimizeOptions
};

// For a case that fails. A neighbour that passes on data made like the case's is tried on other data like it,
// and on normal data of two deviations: it passes only if none of them fails.
Neighbours find_neighbours(const Case& test_case, const Trial& trial, const NeighbourOptions& options = {});

}  // namespace fusesmith::minimizer

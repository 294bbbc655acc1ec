// For which largest magnitude of an input's data a case fails: "max |x| >= 88.73". Its data is scaled as a
// whole, with everything else as it is in the case.
#pragma once

#include <functional>
#include <map>
#include <optional>
#include <string>

#include "graph/case.h"

namespace fusesmith::minimizer {

// The case fails if, and only if, the largest magnitude of the data lies between two limits: of all
// magnitudes that were tried.
struct MagnitudeRule {
  std::string input;
  double here = 0;               // in the case, where it fails
  std::optional<double> lo, hi;  // the least and the largest that fail; none: no limit was found on this side
  std::map<double, bool> tried;  // magnitudes that fail or pass

  // "max |x| >= 88.73", "max |x| <= 1e-20", "1 <= max |x| <= 4".
  std::string text() const;
};

// Whether a case fails; nothing where it fails in another way, cannot be judged, or there is no time for it.
using Fails = std::function<std::optional<bool>(const Case&)>;

// Nothing where the magnitude does not decide: the case fails with all, or fails and passes in turns, or too
// few were tried. Only for float inputs with finite data, of which at least one element is not 0.
std::optional<MagnitudeRule> find_magnitude(const Case& test_case, const std::string& input,
                                            const Fails& fails);

}  // namespace fusesmith::minimizer

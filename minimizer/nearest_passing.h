// The neighbours of a failing case: what changes by one step and still fails, and what passes. "17 fails, 16
// passes" often says where the mistake is.
#pragma once

#include <string>
#include <vector>

#include "minimizer/minimize.h"

namespace fusesmith::minimizer {

struct Sibling {
  Edit edit;
  std::string text;  // "resize x axis 1 to 16"
  bool passes = false;
};

// Every dimension one smaller and one larger, and every other value of each enum and bool attribute, where
// these give valid cases; at most `max_queries` of them.
std::vector<Sibling> nearest_passing(const Case& test_case, const Predicate& predicate,
                                     int64_t max_queries = 200);

}  // namespace fusesmith::minimizer

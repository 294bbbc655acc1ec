// Measure: how big a case is. The engine only takes edits that make it smaller, so every minimization ends.
#pragma once

#include <array>
#include <cstdint>

#include "graph/case.h"

namespace fusesmith::minimizer {

// Compared in this order, least is smallest.
struct Measure {
  int64_t steps = 0;
  int64_t nodes = 0;
  int64_t wires = 0;       // inputs, states, outputs, and operands of nodes
  int64_t elements = 0;    // of all values
  int64_t narrow = 0;      // values of 16-bit dtypes
  int64_t memory = 0;      // what layouts and repeated axes add
  int64_t data = 0;        // complexity of the fills
  int64_t nonzeros = 0;    // elements of literals that are not zero bits
  int64_t attributes = 0;  // how far attributes are from their defaults
  int64_t policy = 0;      // settings that are not the defaults, each skipped pattern one of them; what is
                           // replaced is none, since a drawn replacement is no simpler
  int64_t names = 0;       // that differ from those of minimizer/naming.h

  auto operator<=>(const Measure&) const = default;
};

Measure measure(const Case& test_case);

// 0 for zeros, more for each recipe that says more, most for literals.
int64_t data_complexity(const Fill& fill);
// 0 for an op whose attributes are all the defaults; attributes that choose an algorithm count by their place
// in its list.
int64_t attribute_complexity(const Op& op);

}  // namespace fusesmith::minimizer

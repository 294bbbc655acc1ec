// How far two tensors of one type are apart.
#pragma once

#include <cstdint>

#include "graph/tensor.h"

namespace fusesmith::oracle {

struct Difference {
  int64_t elements = 0;
  int64_t unequal = 0;        // their bits differ
  int64_t nonfinite = 0;      // of these: one of the two is NaN or infinite
  double largest = 0;         // |difference|; infinite where only one is NaN, or one is infinite
  double largest_finite = 0;  // over the elements where both are finite
  double squares = 0;         // sum of the squared differences
  // Further from the baseline's than torch.testing.assert_close allows: what a global tolerance would report.
  int64_t beyond = 0;

  double rms() const;  // 0 of no elements
  Difference& operator+=(const Difference& other);
};

// `baseline` and `other` are of one type.
Difference difference(const Tensor& baseline, const Tensor& other);

}  // namespace fusesmith::oracle

// The trait `magnitude`: the rough size of an op's results, by which the generator keeps graphs in the range
// of f16 and its data natural. Estimates only: no result is judged by them. An op names a rule, or has a
// member function of the same signature. IEEE operations alone: the generator's choices follow from these
// numbers and must be the same on every platform.
#pragma once

#include <span>

#include "graph/tensor.h"

namespace fusesmith::graph {

struct Magnitude {
  double rms = 1;
  bool finite = true;       // no infinity or NaN is to be expected
  bool one_signed = false;  // sums of such values grow with their number, not with its root
};

struct MagnitudeOperands {
  std::span<const Magnitude> in;
  Magnitude all;     // largest rms; finite and one_signed where every input is
  double terms = 1;  // operations (graph/traits/work.h) for each element of the output
};

namespace magnitude_rules {

Magnitude as_inputs(const MagnitudeOperands& x);
Magnitude scaled(const MagnitudeOperands& x, double factor);
Magnitude added(const MagnitudeOperands& x);
Magnitude multiplied(const MagnitudeOperands& x);
Magnitude sum_of_products(const MagnitudeOperands& x);
Magnitude sum_of_terms(const MagnitudeOperands& x);
// 1, with the signs of the inputs, of both signs, or none below 0.
Magnitude unit_of_same_sign(const MagnitudeOperands& x);
Magnitude unit_of_both_signs(const MagnitudeOperands& x);
Magnitude unit_positive(const MagnitudeOperands& x);

}  // namespace magnitude_rules

}  // namespace fusesmith::graph

#include "graph/traits/magnitude.h"

#include <cmath>

namespace fusesmith::graph::magnitude_rules {

Magnitude as_inputs(const MagnitudeOperands& x) { return x.all; }

Magnitude scaled(const MagnitudeOperands& x, double factor) {
  return {x.all.rms * factor, x.all.finite, x.all.one_signed};
}

Magnitude added(const MagnitudeOperands& x) {
  const double a = x.in[0].rms, b = x.in[1].rms;
  return {std::sqrt(a * a + b * b), x.all.finite, x.all.one_signed};
}

Magnitude multiplied(const MagnitudeOperands& x) {
  return {x.in[0].rms * x.in[1].rms, x.all.finite, x.all.one_signed};
}

Magnitude sum_of_products(const MagnitudeOperands& x) {
  const bool one_signed = x.in[0].one_signed && x.in[1].one_signed;
  return {x.in[0].rms * x.in[1].rms * (one_signed ? x.terms : std::sqrt(x.terms)), x.all.finite, one_signed};
}

Magnitude sum_of_terms(const MagnitudeOperands& x) {
  return scaled(x, x.all.one_signed ? x.terms : std::sqrt(x.terms));
}

Magnitude unit_of_same_sign(const MagnitudeOperands& x) { return {1, x.all.finite, x.all.one_signed}; }
Magnitude unit_of_both_signs(const MagnitudeOperands& x) { return {1, x.all.finite, false}; }
Magnitude unit_positive(const MagnitudeOperands& x) { return {1, x.all.finite, true}; }

}  // namespace fusesmith::graph::magnitude_rules

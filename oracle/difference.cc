#include "oracle/difference.h"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <limits>

namespace fusesmith::oracle {
namespace {

double distance(double a, double b) {
  if (std::isnan(a) && std::isnan(b)) return 0;
  const double d = std::fabs(a - b);
  return std::isnan(d) ? std::numeric_limits<double>::infinity() : d;
}

// The absolute and relative tolerances that torch.testing.assert_close takes for a dtype
// (docs.pytorch.org/docs/stable/testing.html).
double tolerance(Dtype dtype, double x) {
  constexpr double kAbsolute = 1e-5;
  if (dtype == Dtype::f32) return kAbsolute + 1.3e-6 * std::fabs(x);
  if (dtype == Dtype::f16) return kAbsolute + 1e-3 * std::fabs(x);
  return dtype == Dtype::bf16 ? kAbsolute + 1.6e-2 * std::fabs(x) : 0;
}

}  // namespace

double Difference::rms() const {
  return elements == 0 ? 0 : std::sqrt(squares / static_cast<double>(elements));
}

Difference& Difference::operator+=(const Difference& other) {
  elements += other.elements;
  unequal += other.unequal;
  nonfinite += other.nonfinite;
  largest = std::max(largest, other.largest);
  largest_finite = std::max(largest_finite, other.largest_finite);
  squares += other.squares;
  beyond += other.beyond;
  return *this;
}

Difference difference(const Tensor& baseline, const Tensor& other) {
  const Tensor &a = baseline, &b = other;
  Difference found{.elements = a.size()};
  if (a.bytes == b.bytes) return found;
  const auto size = static_cast<size_t>(size_of(a.type.dtype));
  for (int64_t i = 0; i < a.size(); ++i) {
    const size_t at = static_cast<size_t>(i) * size;
    if (std::memcmp(a.bytes.data() + at, b.bytes.data() + at, size) == 0) continue;
    ++found.unequal;
    const double wanted = a.value(i), given = b.value(i), apart = distance(wanted, given);
    found.largest = std::max(found.largest, apart);
    if (std::isfinite(wanted) && std::isfinite(given))
      found.largest_finite = std::max(found.largest_finite, apart);
    else
      ++found.nonfinite;
    found.squares += apart * apart;
    const bool close = std::isfinite(apart) && apart <= tolerance(a.type.dtype, wanted);
    found.beyond += apart > 0 && !close;
  }
  return found;
}

}  // namespace fusesmith::oracle

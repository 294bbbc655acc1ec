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

void add(Difference& found, Dtype dtype, double wanted, double given) {
  const double apart = distance(wanted, given);
  ++found.unequal;
  found.largest = std::max(found.largest, apart);
  if (std::isfinite(wanted) && std::isfinite(given))
    found.largest_finite = std::max(found.largest_finite, apart);
  else
    ++found.nonfinite;
  found.squares += apart * apart;
  const bool close = std::isfinite(apart) && apart <= tolerance(dtype, wanted);
  found.beyond += apart > 0 && !close;
}

// `Bits` has the size of an element.
template <class Bits>
void add_all(Difference& found, const Tensor& a, const Tensor& b) {
  for (int64_t i = 0; i < a.size(); ++i) {
    const size_t at = static_cast<size_t>(i) * sizeof(Bits);
    Bits bits_a, bits_b;
    std::memcpy(&bits_a, a.bytes.data() + at, sizeof(Bits));
    std::memcpy(&bits_b, b.bytes.data() + at, sizeof(Bits));
    if (bits_a != bits_b) add(found, a.type.dtype, a.value(i), b.value(i));
  }
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
  Difference found{.elements = baseline.size()};
  if (baseline == other) return found;
  switch (size_of(baseline.type.dtype)) {
    case 1:
      add_all<uint8_t>(found, baseline, other);
      break;
    case 2:
      add_all<uint16_t>(found, baseline, other);
      break;
    default:
      add_all<uint32_t>(found, baseline, other);
  }
  return found;
}

}  // namespace fusesmith::oracle

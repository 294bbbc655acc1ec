#include "oracle/ordinal.h"

#include <algorithm>
#include <cmath>

namespace fusesmith::oracle {

int64_t ordinal(Dtype dtype, double stored) {
  if (!is_rounded(dtype) || stored == 0) return static_cast<int64_t>(stored);
  const int exponent = std::max(std::ilogb(stored), min_exponent(dtype));
  const int64_t binade = int64_t{1} << (precision(dtype) - 1);  // values from one power of two to the next
  const double mantissa = std::ldexp(std::fabs(stored), precision(dtype) - 1 - exponent);
  const int64_t place = (exponent - min_exponent(dtype)) * binade + static_cast<int64_t>(mantissa);
  return stored < 0 ? -place : place;
}

}  // namespace fusesmith::oracle

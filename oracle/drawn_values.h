// For tests of fast paths: numbers of every kind, near the boundaries of a dtype more often than by chance.
#pragma once

#include <cmath>
#include <limits>
#include <random>

#include "graph/dtype.h"
#include "oracle/bounded.h"

namespace fusesmith::oracle::drawn_values {

// Results of every magnitude, zeros, subnormals, ties, powers of two, values that overflow, and special ones.
inline double draw_exact(std::mt19937& random, Dtype dtype) {
  static constexpr double kSpecial[] = {0, -0.0, kInfinity, -kInfinity,
                                        std::numeric_limits<double>::quiet_NaN()};
  std::uniform_int_distribution<int> kind(0, 9), exponent(-160, 130), special(0, 4);
  std::uniform_real_distribution<double> fraction(-2, 2);
  const int drawn = kind(random);
  if (drawn == 0) return kSpecial[special(random)];
  const double x = std::ldexp(fraction(random), drawn < 5 ? exponent(random) / 16 : exponent(random));
  if (drawn == 1) return std::ldexp(1.0, exponent(random));
  if (drawn > 3) return x;
  const double stored = round_to(dtype, x);  // a float, or halfway to the next
  return drawn == 2 || !std::isfinite(stored) ? stored : stored + half_ulp(dtype, stored);
}

inline double draw_error(std::mt19937& random, double v) {
  std::uniform_int_distribution<int> kind(0, 5), exponent(-30, 2);
  const int drawn = kind(random);
  if (drawn <= 1) return 0;
  if (drawn == 2) return kInfinity;
  return std::ldexp(std::isfinite(v) ? std::fabs(v) : 1, exponent(random));
}

}  // namespace fusesmith::oracle::drawn_values

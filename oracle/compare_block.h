// The elements of a comparison that need no closer look, found for a block of them at a time, in a loop
// without branches that compilers vectorise. oracle/compare.cc decides about all others.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>

#include "graph/dtype.h"

namespace fusesmith::oracle {

struct CompareBlock {
  static constexpr size_t kSize = 32;

  // What the elements have in common.
  Dtype dtype = Dtype::f32;  // a float or quantized dtype
  bool computed = false;     // as in error_before_store
  bool signed_zeros = false;

  // Of each element, 1 if it needs no closer look: it is the nearest float to v, so that it is within its
  // bounds whatever e is; e is not loose; and its share is not above the largest share so far. If zeros have
  // signs, a zero needs one.
  std::array<int64_t, kSize> plain;
  // |got - v| / (error before the store + half an ulp); 0 where e is 0.
  std::array<double, kSize> share;

  // Looks at kSize elements; whether all are plain.
  bool look(const double* got, const double* v, const double* e, double largest_share);
};

// Whether e is large beside the element, which its row or column may excuse. Errors below the underflow
// threshold are not loose.
inline bool is_loose_alone(double v, double e) {
  const double magnitude = v < 0 ? -v : v;
  return e * 16 > (magnitude < 0x1p-96 ? 0x1p-96 : magnitude);
}

}  // namespace fusesmith::oracle

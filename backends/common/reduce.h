// Sums in f32 along a row.
#pragma once

#include <cstddef>

namespace fusesmith::backends {

// term(0) + ... + term(n - 1) in eight interleaved partial sums, to hide the latency of additions.
template <class F>
float sum_of(size_t n, F term) {
  constexpr size_t kLanes = 8;
  float lanes[kLanes] = {};
  size_t i = 0;
  for (; i + kLanes <= n; i += kLanes) {
    for (size_t j = 0; j < kLanes; ++j) lanes[j] += term(i + j);
  }
  for (size_t j = 0; i < n; ++i, ++j) lanes[j] += term(i);
  return ((lanes[0] + lanes[4]) + (lanes[1] + lanes[5])) + ((lanes[2] + lanes[6]) + (lanes[3] + lanes[7]));
}

}  // namespace fusesmith::backends

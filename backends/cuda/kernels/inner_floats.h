// Where a kernel shows one of its inner values and finds one to go on from instead (backends/inner_values.h).
#pragma once

namespace fusesmith::backends {

struct InnerFloats {
  float* seen;         // null: nobody looks
  const float* given;  // null: none
};

#ifdef __CUDACC__
// Element i, computed as x by every thread of a group of which one writes: what the group goes on from.
__device__ inline float shown(const InnerFloats& inner, int i, float x, bool writes) {
  if (inner.seen == nullptr) return x;
  if (writes) inner.seen[i] = x;
  return inner.given == nullptr ? x : inner.given[i];
}
#endif

}  // namespace fusesmith::backends

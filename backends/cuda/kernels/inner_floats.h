// Memory in which a kernel records one of its inner values, or finds values to use instead
// (backends/inner_values.h).
#pragma once

namespace fusesmith::backends {

struct InnerFloats {
  float* seen;         // null: not recorded
  const float* given;  // null: none
};

#ifdef __CUDACC__
// Records x as element i and returns the value to continue with. Every thread of a group calls this with the
// same x; the thread with `writes` stores it.
__device__ inline float shown(const InnerFloats& inner, int i, float x, bool writes) {
  if (inner.seen == nullptr) return x;
  if (writes) inner.seen[i] = x;
  return inner.given == nullptr ? x : inner.given[i];
}
#endif

}  // namespace fusesmith::backends

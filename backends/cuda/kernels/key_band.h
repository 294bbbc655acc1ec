// The keys that a query may attend to under a causal mask with a sliding window, on host and device.
#pragma once

#include <cuda_runtime_api.h>

namespace fusesmith::backends {

// Query i's own key is i + offset. It sees no key after it if `causal`, and of those up to it only the last
// `window`, unless that is 0. Sizes, offset and window stay below 2^17, so that no sum overflows.
struct KeyBand {
  int offset, window;
  bool causal;

  __host__ __device__ bool hides(int i, int j) const {
    const int own = i + offset;
    return (causal && j > own) || (window > 0 && j <= own - window);
  }
  // Whether none of the queries from `query` on, of which the last is `last`, has a hidden key among
  // [key, key + keys).
  __host__ __device__ bool shows_all(int query, int last, int key, int keys) const {
    return (!causal || key + keys - 1 <= query + offset) && (window == 0 || key > last + offset - window);
  }
};

}  // namespace fusesmith::backends

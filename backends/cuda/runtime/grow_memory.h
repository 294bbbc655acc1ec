// Growth of memory that is kept between runs. Needs no device.
#pragma once

#include <algorithm>
#include <cstdint>

namespace fusesmith::backends {

// Returns the number of bytes allocated: a quarter more than asked for, and at least `least`; if that fails
// even after free_others(), exactly `bytes`; 0 if that fails too. allocate(size) returns whether it
// succeeded.
template <class Allocate, class FreeOthers>
int64_t grow_memory(int64_t bytes, int64_t least, Allocate allocate, FreeOthers free_others) {
  const int64_t roomy = std::max(bytes + bytes / 4, least);
  if (allocate(roomy)) return roomy;
  free_others();
  if (allocate(roomy)) return roomy;
  return allocate(bytes) ? bytes : 0;
}

}  // namespace fusesmith::backends

// How memory that is kept between runs grows. Device-free.
#pragma once

#include <algorithm>
#include <cstdint>

namespace fusesmith::backends {

// How many bytes were got: a quarter more than asked for, and `least` at least; where the device has not so
// much, even after `free_others()`, exactly `bytes`; 0 for nothing. allocate(size) says whether it succeeded.
template <class Allocate, class FreeOthers>
int64_t grow_memory(int64_t bytes, int64_t least, Allocate allocate, FreeOthers free_others) {
  const int64_t roomy = std::max(bytes + bytes / 4, least);
  if (allocate(roomy)) return roomy;
  free_others();
  if (allocate(roomy)) return roomy;
  return allocate(bytes) ? bytes : 0;
}

}  // namespace fusesmith::backends

// Planted faults that strike only sometimes: races and orders of arrival, on one thread.
#pragma once

#include <atomic>

namespace fusesmith::backends {

// Every time that is a multiple of kEvery, counted in this process.
template <unsigned kEvery>
bool now_and_then() {
  static std::atomic<unsigned> times = 0;
  return ++times % kEvery == 0;
}

}  // namespace fusesmith::backends

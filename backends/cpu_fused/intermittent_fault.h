// Faults that strike only in some runs: races and orders of arrival, on one thread.
#pragma once

#include <atomic>

namespace fusesmith::backends {

// True in every kEvery-th call of this process.
template <unsigned kEvery>
bool strikes_now() {
  static std::atomic<unsigned> calls = 0;
  return ++calls % kEvery == 0;
}

}  // namespace fusesmith::backends

// Wall-clock time that passes, on a clock that is never set back.
#pragma once

#include <chrono>

#include "graph/namespaces.h"

namespace fusesmith::fuzz {

using Clock = std::chrono::steady_clock;

inline double seconds_since(Clock::time_point then) {
  return std::chrono::duration<double>(Clock::now() - then).count();
}

}  // namespace fusesmith::fuzz

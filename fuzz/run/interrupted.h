// What a signal throws where there is nothing to finish.
#pragma once

#include "fuzz/base/interrupt.h"
#include "fuzz/run/run_case.h"

namespace fusesmith::fuzz {

inline void throw_if_interrupted() {
  if (Signals::interrupted()) throw Interrupted{};
}

}  // namespace fusesmith::fuzz

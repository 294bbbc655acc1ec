// Which faults are active while one region is compiled or run.
#pragma once

#include <string_view>

#include "backends/faults.h"

namespace fusesmith::backends {

struct RegionFaults {
  std::string_view pattern;  // of the region; empty for a single node
  const Faults& faults;      // that are on

  // Whether the fault is on, and belongs to this region's pattern: the one that its findings must name.
  bool planted(std::string_view fault) const;
};

}  // namespace fusesmith::backends

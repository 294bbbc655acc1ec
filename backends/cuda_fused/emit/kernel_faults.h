// Faults on their way to a kernel: each flag of a kernel's fault struct, and the fault that sets it.
#pragma once

#include <cstddef>
#include <string_view>

#include "backends/region_faults.h"

namespace fusesmith::backends {

template <class Flags>
struct FaultFlag {
  std::string_view fault;
  bool Flags::*flag;
};

template <class Flags, size_t n>
Flags kernel_faults(const RegionFaults& region, const FaultFlag<Flags> (&flags)[n]) {
  Flags on{};
  for (const FaultFlag<Flags>& each : flags) on.*each.flag = region.planted(each.fault);
  return on;
}

}  // namespace fusesmith::backends

#include "backends/region_faults.h"

namespace fusesmith::backends {

bool RegionFaults::planted(std::string_view fault) const {
  if (!faults.has(fault)) return false;
  for (const FaultInfo& known : all_faults()) {
    if (known.name == fault) return known.pattern == pattern;
  }
  return false;
}

}  // namespace fusesmith::backends

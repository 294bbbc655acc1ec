#include "minimizer/reductions.h"

#include "minimizer/reductions/list.h"

namespace fusesmith::minimizer {

std::span<const Reduction> all_reductions() {
  static const Reduction reductions[] = {
      kFewerSteps,   kCutOutputs,        kPin,         kDropNode,     kShrinkDimension, kBypass, kMergeEquals,
      kSimplifyData, kSimplifyAttribute, kChangeDtype, kDropPatterns,
  };
  return reductions;
}

}  // namespace fusesmith::minimizer

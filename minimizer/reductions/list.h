// The reductions, one file each.
#pragma once

#include "minimizer/reductions.h"

namespace fusesmith::minimizer {

extern const Reduction kFewerSteps;
extern const Reduction kCutOutputs;
extern const Reduction kPin;
extern const Reduction kDropNode;
extern const Reduction kShrinkDimension;
extern const Reduction kBypass;
extern const Reduction kMergeEquals;
extern const Reduction kSimplifyData;
extern const Reduction kSimplifyAttribute;
extern const Reduction kChangeDtype;
extern const Reduction kDropPatterns;

}  // namespace fusesmith::minimizer

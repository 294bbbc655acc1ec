// Measures the errors of this GPU's scalar functions over every finite f32, beside the bounds that contracts
// declare.
#pragma once

#include "backends/scalar_error.h"

namespace fusesmith::backends {

// On the first device; takes seconds. Throws DeviceError.
Calibration calibrate();

}  // namespace fusesmith::backends

// The worst error of a device's scalar function over all inputs; independent of CUDA, for `fusesmith
// calibrate`.
#pragma once

#include <string>
#include <vector>

#include "graph/namespaces.h"

namespace fusesmith::backends {

struct ScalarError {
  std::string name;  // the figure's name in Arithmetic, or the function's
  double worst_error_u =
      0;                  // largest relative error in units of 2^-24 where the exact result is a normal f32
  float at = 0;           // the input at which it occurs
  double declared_u = 0;  // the error that contracts assume; 0: in no contract
  double worst_tiny = 0;  // largest error in units of 2^-126 where |exact| is below that; contracts allow 1
};

struct Calibration {
  std::string device;
  std::vector<ScalarError> functions;
};

}  // namespace fusesmith::backends

// The result of `calibrate`: the measured errors of scalar functions against those that contracts declare.
#pragma once

#include <string>
#include <vector>

#include "backends/scalar_error.h"
#include "graph/namespaces.h"

namespace fusesmith::fuzz {

// The functions whose error is larger than declared.
std::vector<std::string> exceeding(const Calibration& calibration);

std::string calibration_text(const Calibration& calibration);
std::string calibration_json(const Calibration& calibration);

}  // namespace fusesmith::fuzz

// The `calibrate` command: measures the GPU's scalar functions and compares them with what contracts declare.
#pragma once

#include <string>
#include <vector>

#include "backends/scalar_error.h"
#include "fuzz/cli/command.h"

namespace fusesmith::fuzz {

struct CalibrateFlags {
  bool json = false;

  FlagTable table();
};

// Exit code: 0, 77 when a function is worse than declared, 76 without a GPU that answers.
int run(CalibrateFlags& flags, Console& console);

// Prints the figures; 77 when one of them exceeds what is declared.
int report(const Calibration& calibration, bool json, Console& console);

}  // namespace fusesmith::fuzz

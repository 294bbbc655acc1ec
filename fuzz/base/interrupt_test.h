// For tests that send signals to a command which runs in their process.
#pragma once

#include "fuzz/base/interrupt.h"

namespace fusesmith::fuzz {

// While one lives, a command is what handles signals, and none has come before.
class CaughtSignals {
 public:
  explicit CaughtSignals(std::string_view command) {
    Signals::forget();
    Signals::catch_all(command);
  }
  CaughtSignals(const CaughtSignals&) = delete;
  CaughtSignals& operator=(const CaughtSignals&) = delete;
  ~CaughtSignals() { Signals::forget(); }
};

}  // namespace fusesmith::fuzz

// Choices that libFuzzer makes: it keeps the byte strings whose cases met new coverage, and changes them.
#pragma once

#include <cstdint>
#include <filesystem>
#include <functional>
#include <optional>
#include <span>
#include <vector>

#include "fuzz/counts/coverage.h"

namespace fusesmith::fuzz {

// Whether libFuzzer is part of this build.
extern const bool kHasLibFuzzer;

// One in a process, once: libFuzzer runs in a thread of its own, which waits for ever when no more choices
// are wanted.
class GuidedChoices {
 public:
  // `corpus`: a folder, to which libFuzzer adds what it keeps, and which it reads at its start.
  GuidedChoices(uint64_t seed, const std::filesystem::path& corpus);

  // The next bytes, not empty. Nothing if `stop` says so, or libFuzzer has ended.
  std::optional<std::vector<uint8_t>> next(const std::function<bool()>& stop);
  // What the case of the last bytes met; wanted before the next call.
  void tell(const CoverageEvents& events);
};

}  // namespace fusesmith::fuzz

// Console: the streams a command writes to, and how it reports an error in one line.
#pragma once

#include <iosfwd>
#include <string>
#include <string_view>

#include "backends/device_error.h"
#include "fuzz/base/exit_code.h"

namespace fusesmith::fuzz {

// Where a command writes: results on `out`, everything else on `err`.
struct Console {
  std::ostream& out;
  std::ostream& err;
  bool live = false;                    // err is a terminal: one status line, redrawn
  std::string program = "fusesmith";    // how the user called it, for commands to paste
  bool (*reader_left)() = nullptr;      // whether out is a pipe that nobody reads any more; null: cannot tell
  std::string_view commit = "unknown";  // that this program was built from
  std::string executable = {};          // to start this program as a worker; empty: it cannot be
};

// One line on err: "fusesmith replay: x.json: ...". Returns the code.
int fail(Console& console, std::string_view command, std::string_view problem, ExitCode code = kUsage);

// The same for a device that failed: exit 76, or 71 where its memory ran out. `place`: what it was at, or
// empty.
int fail_device(Console& console, std::string_view command, const std::string& place,
                const DeviceError& error);

}  // namespace fusesmith::fuzz

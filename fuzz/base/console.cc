#include "fuzz/base/console.h"

#include <ostream>

#include "fuzz/base/escape.h"

namespace fusesmith::fuzz {

int fail(Console& console, std::string_view command, std::string_view problem, ExitCode code) {
  // One line that does nothing to a terminal, whatever a library or the name of a file put into it.
  console.err << "fusesmith" << (command.empty() ? "" : " ") << command << ": " << printable(problem)
              << std::endl;
  return code;
}

int fail_device(Console& console, std::string_view command, const std::string& place,
                const DeviceError& error) {
  const bool out_of_memory = error.kind() == DeviceError::Kind::out_of_memory;
  return fail(console, command,
              place + (place.empty() ? "" : ": ") +
                  (out_of_memory ? "out of device memory: " : "the device failed: ") + error.what(),
              out_of_memory ? kOutOfMemory : kDeviceUnhealthy);
}

}  // namespace fusesmith::fuzz

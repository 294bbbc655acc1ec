#include "fuzz/base/console.h"

#include <algorithm>
#include <ostream>

namespace fusesmith::fuzz {

int fail(Console& console, std::string_view command, std::string_view problem, ExitCode code) {
  std::string line(problem);  // one line, whatever a library put into it
  std::replace(line.begin(), line.end(), '\n', ' ');
  console.err << "fusesmith" << (command.empty() ? "" : " ") << command << ": " << line << std::endl;
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

// Progress of a command that works in other threads, on standard error.
#pragma once

#include <chrono>
#include <functional>
#include <string>

#include "fuzz/base/console.h"

namespace fusesmith::fuzz {

// Prints `line` until `ended` is true: twice a second in place on a terminal, else every 10 s. `ended` waits
// for up to the time that it is given. No line is printed while `line` is empty.
void show_progress(Console& console, const std::function<bool(std::chrono::milliseconds)>& ended,
                   const std::function<std::string()>& line);

}  // namespace fusesmith::fuzz

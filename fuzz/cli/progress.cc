#include "fuzz/cli/progress.h"

#include <algorithm>
#include <ostream>

#include "fuzz/base/clock.h"

namespace fusesmith::fuzz {

void show_progress(Console& console, const std::function<bool(std::chrono::milliseconds)>& ended,
                   const std::function<std::string()>& line) {
  constexpr auto kLook = std::chrono::milliseconds(100);
  const auto every = console.live ? std::chrono::milliseconds(500) : std::chrono::milliseconds(10000);
  auto shown = Clock::now();
  size_t width = 0;
  while (!ended(kLook)) {
    if (Clock::now() - shown < every) continue;
    const std::string text = line();
    if (text.empty()) continue;
    shown = Clock::now();
    width = std::max(width, text.size());
    if (console.live)
      console.err << "\r" << text << std::string(width - text.size(), ' ') << std::flush;
    else
      console.err << text << "\n" << std::flush;
  }
  if (width > 0 && console.live) console.err << "\r" << std::string(width, ' ') << "\r" << std::flush;
}

}  // namespace fusesmith::fuzz

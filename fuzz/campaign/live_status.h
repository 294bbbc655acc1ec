// What a campaign says while it runs, on standard error: on a terminal one live status line, elsewhere a log
// line every few seconds; notes (a new finding, say) as lines of their own.
#pragma once

#include <chrono>
#include <memory>
#include <mutex>
#include <string>

#include "fuzz/base/console.h"
#include "fuzz/campaign/stats.h"

namespace spdlog {
class logger;
}

namespace fusesmith::fuzz {

class LiveStatus {
 public:
  explicit LiveStatus(Console& console);
  ~LiveStatus();

  // Shows where the campaign stands; call it as often as you like.
  void show(const Stats& stats);
  void note(const std::string& line);
  // Takes the status line away.
  void close();

 private:
  using Clock = std::chrono::steady_clock;
  Console& console_;
  std::shared_ptr<spdlog::logger> log_;
  std::mutex mutex_;
  Clock::time_point last_ = {};
  size_t width_ = 0;  // of the status line on the screen
};

// "0:24, 12345 cases, 512/s (mean 498/s), 2 findings (last 0:03 ago), 5 run, 3 judge, minimizing 1 finding,
// 2 to minimize, 12 gaps, 1 worker restart, 1:20 left, 41% identical, 59% reassociation".
std::string status_line(const Stats& stats);

}  // namespace fusesmith::fuzz

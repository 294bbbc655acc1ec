// What a campaign says while it runs, on standard error: on a terminal one live status line, elsewhere a log
// line every few seconds; notes (a new finding, say) as lines of their own.
#pragma once

#include <chrono>
#include <deque>
#include <memory>
#include <mutex>
#include <string>
#include <utility>

#include "fuzz/base/clock.h"
#include "fuzz/base/color.h"
#include "fuzz/base/console.h"
#include "fuzz/counts/stats.h"

namespace spdlog {
class logger;
}

namespace fusesmith::fuzz {

// Between two lines where standard error is no terminal. Logs of weeks stay short: a pause is twice as long
// as the one before it, up to the longest.
inline constexpr std::chrono::seconds kFirstPause{5}, kLongestPause{600};
std::chrono::seconds next_pause(std::chrono::seconds pause);

class LiveStatus {
 public:
  explicit LiveStatus(Console& console);
  ~LiveStatus();

  // Shows where the campaign stands; call it as often as you like.
  void show(const Stats& stats);
  void note(const std::string& line, Color color = Color::plain);
  // Takes the status line away.
  void close();

 private:
  Console& console_;
  std::shared_ptr<spdlog::logger> log_;
  std::mutex mutex_;
  Clock::time_point last_ = {};
  std::chrono::seconds pause_ = kFirstPause;  // after which a line follows, where there is no terminal
  size_t width_ = 0;                          // of the status line on the screen
};

// "0:24, 12345 cases, 512/s (mean 498/s), 2 findings (last 0:03 ago), 5 run, 3 judge, minimizing 1 finding,
// 2 to minimize, 12 gaps, 1 worker restart, 1:20 left, 41% identical, 59% reassociation".
std::string status_line(const Stats& stats);

// Cases a second over the last time.
class RecentRate {
 public:
  // `seconds` of any clock that does not go back.
  double add(double seconds, int64_t cases);

 private:
  static constexpr double kWindow = 30;
  std::deque<std::pair<double, int64_t>> samples_;
};

}  // namespace fusesmith::fuzz

#include "fuzz/campaign/live_status.h"

#include <spdlog/sinks/ostream_sink.h>
#include <spdlog/spdlog.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <ostream>

#include "fuzz/base/escape.h"
#include "fuzz/base/table.h"

namespace fusesmith::fuzz {

namespace {

std::string time_text(double seconds) {
  const auto s = static_cast<long>(seconds);
  char buffer[32];
  if (s < 3600) {
    std::snprintf(buffer, sizeof buffer, "%ld:%02ld", s / 60, s % 60);
  } else {
    std::snprintf(buffer, sizeof buffer, "%ld:%02ld:%02ld", s / 3600, s / 60 % 60, s % 60);
  }
  return buffer;
}

size_t terminal_columns() {
  winsize size = {};
  return ioctl(STDERR_FILENO, TIOCGWINSZ, &size) == 0 && size.ws_col > 1 ? size.ws_col - size_t{1} : 79;
}

}  // namespace

std::string status_line(const Stats& stats) {
  const CampaignStatus status = stats.status.value_or(CampaignStatus());
  std::string text = time_text(stats.elapsed_s) + ", " + counted(stats.cases, "case") + ", " +
                     std::to_string(std::llround(status.rate_now)) + "/s (mean " +
                     std::to_string(std::llround(status.rate_mean)) + "/s), " +
                     counted(static_cast<int64_t>(stats.findings.size()), "finding");
  if (status.last_finding_s && !stats.findings.empty())
    text += " (last " + time_text(std::max(0.0, stats.elapsed_s - *status.last_finding_s)) + " ago)";
  if (!stats.known.empty()) text += ", " + counted(static_cast<int64_t>(stats.known.size()), "known issue");
  for (const auto& [stage, threads] : status.threads) {
    text += stage == kMinimizeStage ? ", minimizing " + counted(threads, "finding")
                                    : ", " + std::to_string(threads) + " " + stage;
  }
  if (status.findings_waiting > 0) text += ", " + std::to_string(status.findings_waiting) + " to minimize";
  if (status.gaps > 0) text += ", " + counted(status.gaps, "gap");
  if (status.worker_restarts > 0) text += ", " + counted(status.worker_restarts, "worker restart");
  if (!status.quarantined.empty())
    text += ", " + counted(static_cast<int64_t>(status.quarantined.size()), "quarantined GPU");
  if (status.time_left_s) text += ", " + time_text(*status.time_left_s) + " left";
  for (size_t i = 0; i < stats.verdicts.size(); ++i) {
    if (stats.verdicts[i] == 0) continue;
    const double share = 100.0 * static_cast<double>(stats.verdicts[i]) / static_cast<double>(stats.cases);
    text += ", " + short_number(share) + "% " + std::string(kVerdictNames[i]);
  }
  return text;
}

std::chrono::seconds next_pause(std::chrono::seconds pause) { return std::min(2 * pause, kLongestPause); }

LiveStatus::LiveStatus(Console& console) : console_(console), last_(Clock::now()) {
  log_ = std::make_shared<spdlog::logger>(
      "fusesmith", std::make_shared<spdlog::sinks::ostream_sink_mt>(console.err, true));
  log_->set_pattern("[%H:%M:%S] %v");
}

LiveStatus::~LiveStatus() { close(); }

void LiveStatus::show(const Stats& stats) {
  const std::lock_guard guard(mutex_);
  const auto now = Clock::now();
  if (now - last_ < (console_.live ? std::chrono::milliseconds(200) : std::chrono::milliseconds(pause_)))
    return;
  last_ = now;
  pause_ = next_pause(pause_);
  std::string line = status_line(stats);
  if (!console_.live) {
    log_->info("{}", line);
    return;
  }
  line.resize(std::min(line.size(), terminal_columns()));
  console_.err << '\r' << line << std::string(width_ > line.size() ? width_ - line.size() : 0, ' ')
               << std::flush;
  width_ = line.size();
}

void LiveStatus::note(const std::string& line, Color color) {
  close();
  const std::lock_guard guard(mutex_);
  if (color != Color::plain) console_.err << color;
  log_->info("{}", printable(line));
  if (color != Color::plain) console_.err << Color::plain << std::flush;
}

void LiveStatus::close() {
  const std::lock_guard guard(mutex_);
  if (width_ > 0) console_.err << '\r' << std::string(width_, ' ') << '\r' << std::flush;
  width_ = 0;
}

double RecentRate::add(double seconds, int64_t cases) {
  samples_.emplace_back(seconds, cases);
  while (samples_.size() > 2 && samples_[1].first <= seconds - kWindow) samples_.pop_front();
  const double passed = seconds - samples_.front().first;
  return passed > 0 ? static_cast<double>(cases - samples_.front().second) / passed : 0;
}

}  // namespace fusesmith::fuzz

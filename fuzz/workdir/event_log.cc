#include "fuzz/workdir/event_log.h"

#include <fcntl.h>
#include <unistd.h>

#include <array>
#include <chrono>
#include <cstdio>
#include <ctime>
#include <nlohmann/json.hpp>

namespace fusesmith::fuzz {

namespace {

using Json = nlohmann::ordered_json;

constexpr std::array<const char*, 4> kNames = {"debug", "info", "warning", "error"};

// 2025-01-31T23:59:59.999+01:00
std::string now_text() {
  const auto now = std::chrono::system_clock::now();
  const std::time_t seconds = std::chrono::system_clock::to_time_t(now);
  const auto part =
      std::chrono::duration_cast<std::chrono::milliseconds>(now.time_since_epoch()).count() % 1000;
  std::tm local{};
  localtime_r(&seconds, &local);
  char day[32], offset[8], text[64];
  std::strftime(day, sizeof day, "%Y-%m-%dT%H:%M:%S", &local);
  std::strftime(offset, sizeof offset, "%z", &local);  // +0100
  std::snprintf(text, sizeof text, "%s.%03d%.3s:%.2s", day, static_cast<int>(part), offset, offset + 3);
  return text;
}

// log.jsonl, log.1.jsonl, ...
std::string file_name(size_t age) { return age == 0 ? "log.jsonl" : "log." + std::to_string(age) + ".jsonl"; }

}  // namespace

EventLog::EventLog(const WorkPath& workdir, const std::string& level) : workdir_(workdir) {
  for (size_t i = 0; i < kNames.size(); ++i) {
    if (level == kNames[i]) lowest_ = static_cast<Level>(i);
  }
  problem_ = open();
}

std::optional<Problem> EventLog::open() {
  file_ = Descriptor();
  bytes_ = 0;
  auto file = open_file(workdir_ / file_name(0), O_WRONLY | O_APPEND | O_CREAT, "write");
  if (!file) return Problem{file.problem()};
  struct stat status {};
  if (::fstat(file->get(), &status) == 0) bytes_ = static_cast<size_t>(status.st_size);
  file_ = std::move(*file);
  return {};
}

// Where a file cannot be renamed, what is in log.jsonl is written over: the log must not grow without end.
void EventLog::rotate() {
  for (size_t age = kOlderFiles; age > 0; --age) {
    (void)remove_file(workdir_ / file_name(age));
    (void)move_file(workdir_ / file_name(age - 1), workdir_ / file_name(age));
  }
  (void)open();
  if (bytes_ >= kMaxBytes && ::ftruncate(file_.get(), 0) == 0) bytes_ = 0;
}

void EventLog::write(Level level, const std::string& event, const Json& fields) {
  const std::lock_guard guard(mutex_);
  if (!writes(level)) return;
  Json line = {{"time", now_text()}, {"level", kNames[static_cast<size_t>(level)]}, {"event", event}};
  line.update(fields);
  const std::string text = line.dump(-1, ' ', false, Json::error_handler_t::replace) + "\n";
  if (bytes_ + text.size() > kMaxBytes) rotate();
  if (!file_.ok()) return;
  const ssize_t written = ::write(file_.get(), text.data(), text.size());
  if (written > 0) bytes_ += static_cast<size_t>(written);
}

std::vector<std::string> EventLog::level_names() { return {kNames.begin(), kNames.end()}; }

}  // namespace fusesmith::fuzz

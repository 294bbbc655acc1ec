#include "fuzz/campaign/event_log.h"

#include <spdlog/sinks/rotating_file_sink.h>
#include <spdlog/spdlog.h>

#include <array>
#include <nlohmann/json.hpp>

namespace fusesmith::fuzz {

using Json = nlohmann::ordered_json;

namespace {

constexpr std::array kLevels = {spdlog::level::debug, spdlog::level::info, spdlog::level::warn,
                                spdlog::level::err};
constexpr std::array<const char*, kLevels.size()> kNames = {"debug", "info", "warning", "error"};

}  // namespace

EventLog::EventLog(const std::filesystem::path& workdir, const std::string& level) {
  try {
    auto sink = std::make_shared<spdlog::sinks::rotating_file_sink_mt>((workdir / "log.jsonl").string(),
                                                                       kMaxBytes, kOlderFiles);
    log_ = std::make_shared<spdlog::logger>("events", std::move(sink));
  } catch (const spdlog::spdlog_ex&) {
    return;
  }
  log_->set_pattern(R"({"time":"%Y-%m-%dT%H:%M:%S.%e%z","level":"%l",%v})");
  for (size_t i = 0; i < kLevels.size(); ++i) {
    if (level == kNames[i]) log_->set_level(kLevels[i]);
  }
  log_->flush_on(spdlog::level::trace);
  log_->set_error_handler([](const std::string&) {});
}

bool EventLog::writes(Level level) const {
  return log_ && log_->should_log(kLevels[static_cast<size_t>(level)]);
}

void EventLog::write(Level level, const std::string& event, const Json& fields) {
  if (!writes(level)) return;
  Json line = {{"event", event}};
  line.update(fields);
  const std::string text = line.dump(-1, ' ', false, Json::error_handler_t::replace);
  log_->log(kLevels[static_cast<size_t>(level)], "{}", text.substr(1, text.size() - 2));
}

std::vector<std::string> EventLog::level_names() { return {kNames.begin(), kNames.end()}; }

}  // namespace fusesmith::fuzz

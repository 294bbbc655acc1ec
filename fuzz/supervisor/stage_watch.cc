#include "fuzz/supervisor/stage_watch.h"

#include <algorithm>

namespace fusesmith::fuzz {

namespace {

using std::chrono::milliseconds;
using std::chrono::seconds;
using Why = WorkerEnding::Kind;
using State = TimeLimit::State;

constexpr milliseconds kShortStage{200}, kShortSilence{1000};
constexpr seconds kMostSilence{30};
constexpr int64_t kMostPatience = int64_t{1} << 42;  // ms, of which nanoseconds are still a number

std::optional<WorkerEnding> ending_for(State state, const std::string& limit) {
  switch (state) {
    case State::within:
      break;
    case State::passed:
      return WorkerEnding{Why::timed_out, "was not ready within " + limit};
    case State::overloaded:
      return WorkerEnding{Why::overloaded, "had less than " + limit + " of the time of a CPU within " +
                                               std::to_string(TimeLimit::kOverload) + " times as long"};
    case State::stopped:
      return WorkerEnding{Why::stopped, "was stopped by a signal for " +
                                            std::to_string(TimeLimit::kMostStopped.count()) + " s"};
  }
  return {};
}

}  // namespace

bool StageWatch::is_long(Awaited& awaited, int64_t mark, milliseconds least) const {
  const auto now = ProcessClock::Clock::now();
  if (awaited.mark == mark) return now - awaited.since >= least;
  awaited = {mark, now, clock_.reading()};
  return false;
}

std::optional<WorkerEnding> StageWatch::look() {
  bool any_stage = false, any_long = false;
  for (int i = 0; i < journal_.size(); ++i) {
    const int64_t since = journal_.slot(i).since.load(std::memory_order_acquire);
    const bool is_old = is_long(stages_[static_cast<size_t>(i)], since, kShortStage);
    any_stage |= since != 0;
    any_long |= is_old && since != 0;
  }
  const bool silent = is_long(heartbeat_, journal_.heartbeats(), kShortSilence);
  if (!any_long && !silent) {
    clock_.rest();
    return {};
  }
  clock_.tick();
  for (int i = 0; i < journal_.size(); ++i) {
    const Awaited& stage = stages_[static_cast<size_t>(i)];
    if (stage.mark == 0) continue;
    const int64_t patience = std::clamp<int64_t>(journal_.slot(i).patience, 0, kMostPatience);
    const State state = TimeLimit(stage.from, milliseconds(patience)).at(clock_.reading());
    if (auto ending = ending_for(state, std::to_string(patience / 1000) + " s")) return ending;
  }
  if (!silent || any_stage) return {};  // a stage has its own limit
  const State state = TimeLimit(heartbeat_.from, kMostSilence).at(clock_.reading());
  if (state == State::within) return {};
  if (state == State::stopped) return ending_for(state, "");
  return WorkerEnding{Why::stopped,
                      "showed no sign of life for " + std::to_string(kMostSilence.count()) + " s"};
}

}  // namespace fusesmith::fuzz

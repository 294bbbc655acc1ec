// Decides when a worker process has taken too long: at a stage of a case, or without any sign of life. Its
// time is that of a ProcessClock, so that a busy machine makes no case late.
#pragma once

#include <chrono>
#include <optional>
#include <string>
#include <vector>

#include "backends/remote/process_clock.h"
#include "fuzz/supervisor/journal.h"

namespace fusesmith::fuzz {

struct WorkerEnding {
  enum class Kind : uint8_t {
    died,           // by itself: a signal of its own, or an exit
    killed,         // by SIGKILL or SIGTERM that the supervisor did not send
    timed_out,      // ended, because a stage took too long
    overloaded,     // ended, because it had too little time of a CPU to tell
    stopped,        // ended, because it was stopped by a signal, or beside a stage showed no sign of life
    out_of_memory,  // ended, because it used more than its limit
  };
  Kind kind = Kind::died;
  std::string how;          // "ended with signal 11 (Segmentation fault)"
  std::string errors = {};  // what it wrote to standard error last, on one line
};

class StageWatch {
 public:
  // Both outlive it.
  StageWatch(Journal& journal, ProcessClock& clock)
      : journal_(journal), clock_(clock), stages_(static_cast<size_t>(journal.size())) {}

  // Called every few hundredths of a second. Why the process is to be ended, or nothing.
  std::optional<WorkerEnding> look();

 private:
  // Something that is to change before long: the begin of a stage, or a count of heartbeats.
  struct Awaited {
    int64_t mark = 0;
    ProcessClock::Clock::time_point since{};
    ProcessClock::Reading from{};
  };
  // Whether it has been the same for so long that it is worth to look at the process.
  bool is_long(Awaited& awaited, int64_t mark, std::chrono::milliseconds least) const;

  Journal& journal_;
  ProcessClock& clock_;
  std::vector<Awaited> stages_;  // by thread
  Awaited heartbeat_;
};

}  // namespace fusesmith::fuzz

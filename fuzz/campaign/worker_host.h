// The worker processes of a campaign, for its supervisor: what judges a case, minimizes a finding or answers
// a query runs in one of them. A process that ends, hangs or takes too much memory is replaced, and each case
// that it was at runs again in a process of its own, which shows whether it was the cause.
#pragma once

#include <atomic>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <vector>

#include "backends/worker_error.h"
#include "fuzz/campaign/case_worker.h"
#include "fuzz/campaign/worker_messages.h"

namespace fusesmith::fuzz {

// The campaign cannot go on. No std::exception, which would be taken for a crash of a case.
struct HostError {
  ExitCode code;
  std::string what;
};

// A case that was judged, or that ended the process in which it ran alone.
struct HostJudged {
  Finished finished = {};
  std::optional<WorkerError> failure = {};
  std::optional<DeviceError> device = {};
};

// All functions but start() may be called from any thread. They throw HostError, and Interrupted soon after a
// signal.
class WorkerHost {
 public:
  // `program`: what is started as a worker. `threads`: over all processes, each of which has at least one.
  WorkerHost(std::string program, WorkerSetup setup, int threads, int processes);

  // Starts the first process. The pair of backends is then the same for all that follow.
  WorkerHello start();
  int threads() const { return static_cast<int>(places_.size()); }
  const Environment& environment() const { return environment_; }
  // Processes that ended and were replaced.
  int64_t restarts() const { return restarts_; }
  // How many threads are at work now, by stage.
  std::map<std::string, int64_t> stages();

  // `text`: of a case that is not generated.
  HostJudged judge(const std::string& name, const std::string& text);

  using OnOther = std::function<void(const Finished&)>;
  // Whether it was finished; not if the process ended, which is tried twice: `why` tells how. If `why` is
  // set, it is not minimized for this reason. `other` is called with each finding that was met meanwhile. The
  // problem is a file.
  Result<bool> finish(const std::string& signature, bool minimize, const OnOther& other, std::string& why);

  // Runs cases one after the other in a process of their own, and starts another where one ends it.
  class Alone {
   public:
    explicit Alone(WorkerHost& host) : host_(host) {}
    // Throws WorkerError or DeviceError when the case ends the process.
    BriefVerdict query(const Case& test_case);
    HostJudged judge(const WorkerRequest& request);

   private:
    // Nothing: the process ended, and `failure` says how.
    std::optional<WorkerReply> ask(const WorkerRequest& request, std::optional<WorkerError>& failure);

    WorkerHost& host_;
    std::unique_ptr<CaseWorker> worker_;
  };

 private:
  struct Place {
    size_t process;
    int thread;
  };
  class PlaceTaken;

  std::unique_ptr<CaseWorker> start_process(int threads, WorkerHello& hello) const;
  std::unique_ptr<CaseWorker> start_or_throw(int threads) const;
  std::shared_ptr<CaseWorker> process(size_t index);
  static std::optional<WorkerReply> ask(CaseWorker& worker, int thread, const WorkerRequest& request,
                                        const OnOther& other = {});
  WorkerError failure_of(CaseWorker& worker, const WorkerEnding& ending) const;
  void count_device_failure(bool innocent, const std::string& what);

  struct Process {
    std::mutex mutex;  // while it is started
    std::shared_ptr<CaseWorker> worker;
    int threads = 0;
  };

  const std::string program_;
  WorkerSetup setup_;
  Environment environment_;
  std::vector<std::unique_ptr<Process>> processes_;
  std::atomic<int64_t> restarts_ = 0;
  std::vector<Place> places_;
  std::mutex mutex_;  // of what follows
  std::vector<Place> free_;
  int innocent_device_failures_ = 0;  // in a row
};

}  // namespace fusesmith::fuzz

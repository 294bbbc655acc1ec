// The worker processes of a campaign, for its supervisor: what judges a case, minimizes a finding or answers
// a query runs in one of them. A process that ends, hangs or takes too much memory is replaced, and each case
// that it was at runs again in a process of its own, which shows whether it was the cause. The other side, in
// a worker process, is campaign_worker.h; what they send is worker_messages.h.
#pragma once

#include <atomic>
#include <condition_variable>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <vector>

#include "backends/worker_error.h"
#include "fuzz/supervisor/case_worker.h"
#include "fuzz/supervisor/devices.h"
#include "fuzz/supervisor/worker_messages.h"

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
  // With --gpus, there is at least one process for each GPU.
  WorkerHost(std::string program, WorkerSetup setup, int threads, int processes);
  ~WorkerHost();

  // Starts the first process; before that, one that lists the GPUs, if the flags name some. The pair of
  // backends is then the same for all that follow.
  WorkerHello start();
  int threads() const { return static_cast<int>(places_.size()); }
  const Environment& environment() const { return environment_; }
  // Processes that ended and were replaced.
  int64_t restarts() const { return restarts_; }
  // How many threads are at work now, by stage.
  std::map<std::string, int64_t> stages();
  // Those that the flags name.
  std::vector<CampaignGpu> gpus() const { return devices_->states(); }

  HostJudged judge(const WorkerRequest& request);

  using KeepOther = std::function<bool(const Finished&)>;
  // Whether it was finished; not if the process ended, which is tried twice: `why` tells how. If `why` is
  // set, it is not minimized for this reason. `keep_other` is called with each finding that was met
  // meanwhile, and says whether it is on disk. The problem is a file.
  Result<bool> finish(const std::string& signature, bool minimize, double max_seconds,
                      const KeepOther& keep_other, std::string& why);

  // Runs cases one after the other in a process of their own, and starts another where one ends it.
  class Alone {
   public:
    // `not_on`: a GPU that is not to be used where there is another one.
    explicit Alone(WorkerHost& host, std::optional<size_t> not_on = {}) : host_(host), not_on_(not_on) {}
    // Throws WorkerError or DeviceError when the case ends the process.
    BriefVerdict query(const Case& test_case);
    HostJudged judge(const WorkerRequest& request);
    // On which it ran last.
    size_t device() const { return device_; }

   private:
    // Nothing: the process ended, and `failure` says how.
    std::optional<WorkerReply> ask(const WorkerRequest& request, std::optional<WorkerError>& failure);

    WorkerHost& host_;
    const std::optional<size_t> not_on_;
    size_t device_ = 0;
    std::unique_ptr<CaseWorker> worker_;
  };

 private:
  struct Place {
    size_t process;
    int thread;
  };
  class PlaceTaken;
  struct Running;

  bool find_gpus(WorkerHello& hello);
  void name_all_gpus();
  void make_places();
  std::unique_ptr<CaseWorker> start_process(size_t device, int threads, bool lists_gpus, WorkerHello& hello);
  std::unique_ptr<CaseWorker> start_once(size_t device, int threads, bool lists_gpus, WorkerHello& hello);
  std::unique_ptr<CaseWorker> start_on(size_t device, int threads);
  std::unique_ptr<CaseWorker> start_alone(std::optional<size_t> not_on, size_t& device);
  std::shared_ptr<Running> process(size_t index);
  HostJudged judge_alone(const WorkerRequest& request, Running& seen_on);
  static std::optional<WorkerReply> ask(CaseWorker& worker, int thread, const WorkerRequest& request,
                                        const KeepOther& keep_other = {});
  WorkerError failure_of(CaseWorker& worker, const WorkerEnding& ending) const;

  struct Process {
    std::mutex mutex;  // while it is started
    std::shared_ptr<Running> running;
    int threads = 0;
    size_t device = 0;
  };

  const std::string program_;
  WorkerSetup setup_;
  const int wanted_threads_, wanted_processes_;
  Environment environment_;
  std::unique_ptr<Devices> devices_ = std::make_unique<Devices>(std::vector<Gpu>{});
  std::vector<std::unique_ptr<Process>> processes_;
  std::atomic<int64_t> restarts_ = 0;
  std::vector<Place> places_;
  std::mutex mutex_;  // of what follows
  std::condition_variable freed_;
  std::vector<Place> free_;  // whose GPU is not in quarantine, though it may be put there meanwhile
};

}  // namespace fusesmith::fuzz

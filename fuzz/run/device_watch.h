// Which cases are running on a device, over all threads, so that they can be saved if the device fails. After
// that, nothing can run on the device in this process. To find the case that causes the failure, each of them
// runs alone in a new process.
#pragma once

#include <functional>
#include <map>
#include <mutex>
#include <string>
#include <thread>
#include <vector>

#include "graph/case.h"

namespace fusesmith::fuzz {

class DeviceWatch {
 public:
  struct Running {
    std::string task;
    const Case* test_case;
  };
  // Called once, for the first failure. No case on the list ends while it runs.
  using OnFailure = std::function<void(const std::vector<Running>&)>;
  explicit DeviceWatch(OnFailure on_failure) : on_failure_(std::move(on_failure)) {}

  // What this thread is at while it lives: the name of the cases that it runs.
  class Task {
   public:
    Task(DeviceWatch& watch, std::string name);
    Task(const Task&) = delete;
    Task& operator=(const Task&) = delete;
    ~Task();

   private:
    DeviceWatch& watch_;
  };

  // The case is on the device while this lives. `watch` may be null; the thread must be at a task.
  class Run {
   public:
    Run(DeviceWatch* watch, const Case& test_case);
    Run(const Run&) = delete;
    Run& operator=(const Run&) = delete;
    ~Run();

   private:
    DeviceWatch* watch_;
  };

  // The device failed under this thread's case.
  void fail();
  bool failed() const;

 private:
  const OnFailure on_failure_;
  mutable std::mutex mutex_;  // of what follows
  std::map<std::thread::id, Running> threads_;
  bool failed_ = false;
};

}  // namespace fusesmith::fuzz

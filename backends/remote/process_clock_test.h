// For tests of time limits: processes that share one CPU.
#pragma once

#include <sched.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <csignal>
#include <functional>
#include <memory>
#include <vector>

#include "graph/namespaces.h"

namespace fusesmith::backends {

[[noreturn]] inline void burn() {
  for (volatile bool forever = true; forever;) {
  }
  _exit(0);
}

[[noreturn]] inline void sleep_for_ever() {
  for (;;) pause();
}

// The calling thread, and what it starts from now on, has the first of its CPUs alone.
inline void use_first_cpu() {
  cpu_set_t allowed, first;
  sched_getaffinity(0, sizeof allowed, &allowed);
  int cpu = 0;
  while (!CPU_ISSET(cpu, &allowed)) ++cpu;
  CPU_ZERO(&first);
  CPU_SET(cpu, &first);
  sched_setaffinity(0, sizeof first, &first);
}

// A process of its own, on the first CPU that this one may use. Ends with its parent.
class Forked {
 public:
  explicit Forked(const std::function<void()>& act) : id_(fork()) {
    if (id_ != 0) return;
    prctl(PR_SET_PDEATHSIG, SIGKILL);
    use_first_cpu();
    act();
    _exit(0);
  }
  Forked(const Forked&) = delete;
  Forked& operator=(const Forked&) = delete;
  ~Forked() {
    kill(id_, SIGKILL);
    waitpid(id_, nullptr, 0);
  }
  pid_t id() const { return id_; }

 private:
  pid_t id_;
};

// So many processes that compute on the same CPU.
class BusyProcesses {
 public:
  explicit BusyProcesses(int count) {
    for (int i = 0; i < count; ++i) processes_.push_back(std::make_unique<Forked>(burn));
  }

 private:
  std::vector<std::unique_ptr<Forked>> processes_;
};

}  // namespace fusesmith::backends

#include "fuzz/base/interrupt.h"

#include <unistd.h>

#include <algorithm>
#include <atomic>

#include "fuzz/base/exit_code.h"

namespace fusesmith::fuzz {

namespace {

constexpr int kEnding[] = {SIGINT, SIGTERM, SIGHUP};
constexpr int kPreempting[] = {SIGUSR1, SIGUSR2, SIGXCPU};

// Lock-free, so that a handler may touch them.
std::atomic<int> signals = 0, last_signal = 2;
std::atomic<bool> preempting = false;

extern "C" void on_signal(int) {
  if (signals.fetch_add(1) + 1 >= last_signal) _exit(kInterrupted);
}

extern "C" void on_preemption(int) { preempting = true; }

}  // namespace

InterruptGuard::InterruptGuard(First first) {
  signals = 0;
  preempting = false;
  last_signal = first == First::ends ? 1 : 2;
  const auto handle = [&](int signal, void (*handler)(int)) {
    struct sigaction action = {};
    action.sa_handler = handler;
    sigemptyset(&action.sa_mask);
    action.sa_flags = SA_RESTART;
    old_.emplace_back(signal, action);
    sigaction(signal, nullptr, &old_.back().second);
    const bool nohup = signal == SIGHUP && old_.back().second.sa_handler == SIG_IGN;
    if (!nohup) sigaction(signal, &action, nullptr);
  };
  for (const int signal : kEnding) handle(signal, on_signal);
  if (first == First::ends) return;
  for (const int signal : kPreempting) handle(signal, on_preemption);
}

InterruptGuard::~InterruptGuard() {
  for (const auto& [signal, action] : old_) sigaction(signal, &action, nullptr);
}

bool InterruptGuard::interrupted() { return signals > 0 || preempting; }

bool InterruptGuard::preempted() { return signals == 0 && preempting; }

}  // namespace fusesmith::fuzz

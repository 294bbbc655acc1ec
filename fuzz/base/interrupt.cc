#include "fuzz/base/interrupt.h"

#include <unistd.h>

#include <atomic>

#include "fuzz/base/exit_code.h"

namespace fusesmith::fuzz {

namespace {

constexpr int kSignals[] = {SIGINT, SIGTERM, SIGHUP};

std::atomic<int> signals = 0, last_signal = 2;  // lock-free, so a handler may touch them

extern "C" void on_signal(int) {
  if (signals.fetch_add(1) + 1 >= last_signal) _exit(kInterrupted);
}

}  // namespace

InterruptGuard::InterruptGuard(First first) {
  signals = 0;
  last_signal = first == First::ends ? 1 : 2;
  struct sigaction action = {};
  action.sa_handler = on_signal;
  sigemptyset(&action.sa_mask);
  action.sa_flags = SA_RESTART;
  for (size_t i = 0; i < old_.size(); ++i) {
    sigaction(kSignals[i], nullptr, &old_[i]);
    const bool nohup = kSignals[i] == SIGHUP && old_[i].sa_handler == SIG_IGN;
    if (!nohup) sigaction(kSignals[i], &action, nullptr);
  }
}

InterruptGuard::~InterruptGuard() {
  for (size_t i = 0; i < old_.size(); ++i) sigaction(kSignals[i], &old_[i], nullptr);
}

bool InterruptGuard::interrupted() { return signals > 0; }

}  // namespace fusesmith::fuzz

#include "fuzz/interrupt.h"

#include <unistd.h>

#include <atomic>

#include "fuzz/exit_code.h"

namespace fusesmith {

namespace {

std::atomic<int> signals = 0;  // lock-free, so a handler may touch it

extern "C" void on_signal(int) {
  if (signals.fetch_add(1) > 0) _exit(kInterrupted);
}

}  // namespace

InterruptGuard::InterruptGuard() {
  signals = 0;
  struct sigaction action = {};
  action.sa_handler = on_signal;
  sigemptyset(&action.sa_mask);
  action.sa_flags = SA_RESTART;
  sigaction(SIGINT, &action, &old_int_);
  sigaction(SIGTERM, &action, &old_term_);
}

InterruptGuard::~InterruptGuard() {
  sigaction(SIGINT, &old_int_, nullptr);
  sigaction(SIGTERM, &old_term_, nullptr);
}

bool InterruptGuard::interrupted() { return signals > 0; }

}  // namespace fusesmith

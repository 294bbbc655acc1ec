#include "fuzz/base/interrupt.h"

#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <csignal>
#include <iterator>

#include "fuzz/base/exit_code.h"

namespace fusesmith::fuzz {

namespace {

constexpr int kEnding[] = {SIGINT, SIGTERM, SIGHUP};
constexpr int kPreempting[] = {SIGUSR1, SIGUSR2, SIGXCPU};
constexpr std::string_view kGoOnLater[] = {"fuzz", "merge"};  // commands that may be preempted

// Lock-free, so that a handler may touch them.
std::atomic<int> signals = 0, preempted_code = kInterrupted;
std::atomic<bool> preempting = false, finishing = false;

extern "C" void on_signal(int) {
  if (signals.fetch_add(1) > 0 || !finishing) _exit(kInterrupted);
}

extern "C" void on_preemption(int) {
  preempting = true;
  if (!finishing) _exit(preempted_code);
}

}  // namespace

void Signals::catch_all(std::string_view command) {
  const auto* const end = std::end(kGoOnLater);
  preempted_code = std::find(std::begin(kGoOnLater), end, command) == end ? kInterrupted : kPreempted;
  sigset_t caught;
  sigemptyset(&caught);
  const auto handle = [&](int signal, void (*handler)(int)) {
    struct sigaction action = {}, before = {};
    action.sa_handler = handler;
    sigemptyset(&action.sa_mask);
    action.sa_flags = SA_RESTART;
    sigaction(signal, nullptr, &before);
    const bool nohup = signal == SIGHUP && before.sa_handler == SIG_IGN;
    if (!nohup) sigaction(signal, &action, nullptr);
    sigaddset(&caught, signal);
  };
  for (const int signal : kEnding) handle(signal, on_signal);
  for (const int signal : kPreempting) handle(signal, on_preemption);
  pthread_sigmask(SIG_UNBLOCK, &caught, nullptr);
}

void Signals::finish_first() { finishing = true; }

bool Signals::interrupted() { return signals > 0 || preempting; }

bool Signals::preempted() { return signals == 0 && preempting; }

void Signals::forget() {
  signals = 0;
  preempting = finishing = false;
}

}  // namespace fusesmith::fuzz

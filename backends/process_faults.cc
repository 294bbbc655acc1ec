#include "backends/process_faults.h"

#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <csignal>
#include <cstdlib>
#include <cstring>
#include <memory>
#include <mutex>
#include <thread>
#include <vector>

namespace fusesmith::backends {

#ifdef FUSESMITH_FAULTS

namespace {

using Act = void (*)();

// Through a variable, so that no compiler sees the recursion without an end.
int descend(int depth);
int (*volatile deeper)(int) = descend;

int descend(int depth) {
  volatile char frame[4096];
  frame[0] = static_cast<char>(depth);
  return deeper(depth + 1) + frame[0];
}

void overflow_stack() { std::_Exit(descend(0)); }

void end_by_signal(int signal) {
  std::signal(signal, SIG_DFL);  // a sanitizer may have its own handler
  raise(signal);
}

void spin() {
  for (volatile bool forever = true; forever;) {
  }
}

void lock_twice() {
  std::timed_mutex mutex;
  mutex.lock();
  std::thread([&mutex] { mutex.lock(); }).join();
}

// At most 4 GiB, so that no machine is harmed where nothing ends the process.
void fill_memory() {
  constexpr size_t kBlock = size_t{16} << 20, kMost = 256;
  std::vector<std::unique_ptr<char[]>> blocks;
  while (blocks.size() < kMost) {
    blocks.push_back(std::make_unique<char[]>(kBlock));
    std::memset(blocks.back().get(), 1, kBlock);
    std::this_thread::sleep_for(std::chrono::milliseconds(1));
  }
}

constexpr std::string_view kNames[] = {"process_segfault", "process_abort",    "process_fpe",
                                       "process_exit",     "process_quits",    "process_stack_overflow",
                                       "process_spins",    "process_deadlock", "process_fills_memory"};
constexpr Act kActs[] = {[] { end_by_signal(SIGSEGV); },
                         [] { end_by_signal(SIGABRT); },
                         [] { end_by_signal(SIGFPE); },
                         [] { std::exit(3); },
                         [] { _exit(0); },
                         overflow_stack,
                         spin,
                         lock_twice,
                         fill_memory};
static_assert(std::size(kNames) == std::size(kActs));

}  // namespace

std::span<const std::string_view> process_faults() { return kNames; }

void run_process_fault(const Faults& faults, const Graph& graph) {
  const auto& nodes = graph.nodes();
  if (faults.names().empty() || std::none_of(nodes.begin(), nodes.end(), [](const Node& node) {
        return std::holds_alternative<Gelu>(node.op);
      }))
    return;
  for (size_t i = 0; i < std::size(kNames); ++i) {
    if (faults.has(kNames[i])) kActs[i]();
  }
}

#else

std::span<const std::string_view> process_faults() { return {}; }
void run_process_fault(const Faults&, const Graph&) {}

#endif

}  // namespace fusesmith::backends

#include "backends/process_faults.h"

#include <sys/prctl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <chrono>
#include <csignal>
#include <cstdlib>
#include <cstring>
#include <fstream>
#include <iterator>
#include <memory>
#include <mutex>
#include <string>
#include <thread>
#include <vector>

#include "backends/device_error.h"
#include "graph/philox.h"

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

[[noreturn]] void lose_device() {
  throw DeviceError(DeviceError::Kind::unhealthy, "injected: an illegal memory access was encountered");
}

bool is_traced() {
  std::ifstream status("/proc/self/status");
  for (std::string line; std::getline(status, line);) {
    if (line.starts_with("TracerPid:")) return line.find_first_of("123456789") != std::string::npos;
  }
  return false;
}

// The reader of FUSESMITH_TRACER, a pipe of the file system, traces this process, so that the one that
// started it cannot wait for it once it is killed: as where a process hangs in a driver.
void get_stuck() {
  prctl(PR_SET_PTRACER, PR_SET_PTRACER_ANY);
  const char* tracer = std::getenv("FUSESMITH_TRACER");
  if (tracer) std::ofstream(tracer) << std::to_string(getpid()) + "\n" << std::flush;
  while (tracer && !is_traced()) std::this_thread::sleep_for(std::chrono::milliseconds(10));
  spin();
}

// The journal and the first thread's socket of a worker (fuzz/supervisor/worker_messages.h).
constexpr int kJournal = 3, kSocket = 4;

void write_to_socket() {
  constexpr uint64_t kSize = uint64_t{1} << 30;
  [[maybe_unused]] const ssize_t written = write(kSocket, &kSize, sizeof kSize);
}

void cut_off_journal() {
  if (ftruncate(kJournal, 0) == 0) std::abort();  // it is sealed
}

void write_over_journal() {
  const std::vector<char> bytes(64 << 10, '\xF7');
  struct stat status {};
  if (fstat(kJournal, &status) != 0) return;
  const auto size = std::min(bytes.size(), static_cast<size_t>(status.st_size));
  [[maybe_unused]] const ssize_t written = pwrite(kJournal, bytes.data(), size, 0);
  spin();
}

struct ProcessFault {
  std::string_view name;
  Act act;  // null: a kernel's (backends/cuda/runtime/device_faults.h)
};

constexpr ProcessFault kProcessFaults[] = {
    {"process_segfault", [] { end_by_signal(SIGSEGV); }},
    {"process_abort", [] { end_by_signal(SIGABRT); }},
    {"process_fpe", [] { end_by_signal(SIGFPE); }},
    {"process_exit", [] { std::exit(3); }},
    {"process_quits", [] { _exit(0); }},
    {"process_stack_overflow", overflow_stack},
    {"process_spins", spin},
    {"process_deadlock", lock_twice},
    {"process_fills_memory", fill_memory},
    {"process_writes_to_socket", write_to_socket},
    {"process_cuts_off_journal", cut_off_journal},
    {"process_writes_over_journal", write_over_journal},
    // As kernels do, on any backend.
    {"process_loses_device", lose_device},
    {"process_loses_sick_gpu", [] { on_sick_gpu() ? lose_device() : void(); }},
    {"process_stuck_on_sick_gpu", [] { on_sick_gpu() ? get_stuck() : void(); }},
    {"device_endless_kernel", nullptr},
    {"device_illegal_address", nullptr},
    {"device_trap", nullptr},
    {"device_trap_on_sick_gpu", nullptr},
    {"device_out_of_memory", nullptr}};

constexpr auto kNames = [] {
  std::array<std::string_view, std::size(kProcessFaults)> names;
  for (size_t i = 0; i < names.size(); ++i) names[i] = kProcessFaults[i].name;
  return names;
}();

bool has_gelu(const Graph& graph) {
  const auto& nodes = graph.nodes();
  return std::any_of(nodes.begin(), nodes.end(),
                     [](const Node& node) { return std::holds_alternative<Gelu>(node.op); });
}

// FUSESMITH_FAULT_EVERY, or 0.
uint64_t fault_every() {
  const char* every = std::getenv("FUSESMITH_FAULT_EVERY");
  return every ? std::strtoull(every, nullptr, 10) : 0;
}

}  // namespace

std::span<const std::string_view> process_faults() { return kNames; }

std::string_view shown_process_fault(const Faults& faults, const Graph& graph) {
  if (faults.names().empty() || !has_gelu(graph)) return {};
  std::vector<std::string_view> on;
  std::copy_if(kNames.begin(), kNames.end(), std::back_inserter(on),
               [&](std::string_view name) { return faults.has(name); });
  if (on.empty()) return {};
  const uint64_t every = fault_every();
  if (every == 0) return on.front();
  const uint64_t hash = hash_name(to_string(graph));
  return hash % every ? std::string_view() : on[hash / every % on.size()];
}

bool on_sick_gpu() {
  const char *gpus = std::getenv("CUDA_VISIBLE_DEVICES"), *sick = std::getenv("FUSESMITH_SICK_GPU");
  return gpus && std::strstr(gpus, sick ? sick : "sick");
}

void run_process_fault(const Faults& faults, const Graph& graph) {
  const std::string_view shown = shown_process_fault(faults, graph);
  for (const ProcessFault& fault : kProcessFaults) {
    if (fault.act && fault.name == shown) fault.act();
  }
}

#else

std::span<const std::string_view> process_faults() { return {}; }
std::string_view shown_process_fault(const Faults&, const Graph&) { return {}; }
bool on_sick_gpu() { return false; }
void run_process_fault(const Faults&, const Graph&) {}

#endif

}  // namespace fusesmith::backends

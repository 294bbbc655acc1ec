// The journal of a worker process: shared memory in which each of its threads notes what it is at, so that
// the supervisor can see a thread that hangs, and where a process was when it ended.
#pragma once

#include <atomic>
#include <cstdint>
#include <memory>

#include "fuzz/run/run_case.h"

namespace fusesmith::fuzz {

inline constexpr int64_t kNoLimit = int64_t{1} << 40;  // ms: 34 years

// One thread's. Written by the worker alone, once it has given its first answer.
struct alignas(64) JournalSlot {
  std::atomic<int64_t> since{0};     // when the stage began, in ns of the steady clock; 0: nothing is done
  std::atomic<int64_t> patience{0};  // how long a stage of this case may take, in ms
  std::atomic<Stage> stage{};
  std::atomic<BackendRole> role{};

  // A case begins, before its first stage.
  void begin_case(int64_t patience_ms);
  void begin(Stage next, BackendRole at_work);
  void end_case() { since = 0; }
  // Whether it holds what these functions write, and not what a kernel did that wrote there.
  bool is_valid() const;
};

class Journal {
 public:
  // Null if there is no memory.
  static std::unique_ptr<Journal> make(int slots);
  // Of the descriptor that another process made; null if it is not one of so many slots.
  static std::unique_ptr<Journal> open(int descriptor, int slots);
  Journal(const Journal&) = delete;
  Journal& operator=(const Journal&) = delete;
  ~Journal();

  int descriptor() const { return descriptor_; }
  int size() const { return slots_; }
  JournalSlot& slot(int index) { return shared_->slots[index]; }
  // Asks the worker to end what it is at where it can.
  void stop() { shared_->stopped = true; }
  bool stopped() const { return shared_->stopped; }
  // A process that runs, at whatever, beats a few times a second.
  void beat() { shared_->heartbeats.fetch_add(1, std::memory_order_relaxed); }
  int64_t heartbeats() const { return shared_->heartbeats.load(std::memory_order_relaxed); }

 private:
  struct Shared {
    alignas(64) std::atomic<bool> stopped{false};
    std::atomic<int64_t> heartbeats{0};
    JournalSlot slots[1];
  };
  static size_t bytes(int slots) { return sizeof(Shared) + sizeof(JournalSlot) * static_cast<size_t>(slots); }
  Journal(int descriptor, int slots, Shared* shared)
      : descriptor_(descriptor), slots_(slots), shared_(shared) {}

  const int descriptor_, slots_;
  Shared* const shared_;
};

}  // namespace fusesmith::fuzz

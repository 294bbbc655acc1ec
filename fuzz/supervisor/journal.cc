#include "fuzz/supervisor/journal.h"

#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <chrono>

namespace fusesmith::fuzz {

namespace {

// The same clock in all processes.
int64_t now() {
  using std::chrono::nanoseconds;
  const auto time = std::chrono::steady_clock::now().time_since_epoch();
  return std::chrono::duration_cast<nanoseconds>(time).count();
}

}  // namespace

void JournalSlot::begin_case(int64_t patience_ms) {
  patience = patience_ms;
  begin(Stage::compile, BackendRole::candidate);
}

void JournalSlot::begin(Stage next, BackendRole at_work) {
  stage.store(next, std::memory_order_relaxed);
  role.store(at_work, std::memory_order_relaxed);
  since.store(now(), std::memory_order_release);
}

bool JournalSlot::is_valid() const {
  constexpr int64_t kSecond = 1'000'000'000, kMost = kNoLimit << 10;
  const int64_t began = since, allowed = patience;
  return began >= 0 && began <= now() + kSecond && allowed >= 0 && allowed <= kMost &&
         stage.load() <= Stage::judge && role.load() <= BackendRole::candidate;
}

std::unique_ptr<Journal> Journal::make(int slots) {
  const int descriptor = memfd_create("fusesmith-journal", MFD_CLOEXEC | MFD_ALLOW_SEALING);
  if (descriptor < 0) return nullptr;
  // Sealed, so that a worker cannot cut off what the supervisor reads.
  if (ftruncate(descriptor, static_cast<off_t>(bytes(slots))) != 0 ||
      fcntl(descriptor, F_ADD_SEALS, F_SEAL_SHRINK | F_SEAL_GROW | F_SEAL_SEAL) != 0) {
    close(descriptor);
    return nullptr;
  }
  return open(descriptor, slots);
}

// Zeros are a journal in which nothing is done.
std::unique_ptr<Journal> Journal::open(int descriptor, int slots) {
  struct stat status {};
  if (fstat(descriptor, &status) != 0 || status.st_size != static_cast<off_t>(bytes(slots))) return nullptr;
  void* memory = mmap(nullptr, bytes(slots), PROT_READ | PROT_WRITE, MAP_SHARED, descriptor, 0);
  if (memory == MAP_FAILED) return nullptr;
  return std::unique_ptr<Journal>(new Journal(descriptor, slots, static_cast<Shared*>(memory)));
}

Journal::~Journal() {
  munmap(shared_, bytes(slots_));
  close(descriptor_);
}

}  // namespace fusesmith::fuzz

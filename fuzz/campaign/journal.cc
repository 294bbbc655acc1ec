#include "fuzz/campaign/journal.h"

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

std::unique_ptr<Journal> Journal::make(int slots) {
  const int descriptor = memfd_create("fusesmith-journal", MFD_CLOEXEC);
  if (descriptor < 0) return nullptr;
  if (ftruncate(descriptor, static_cast<off_t>(bytes(slots))) != 0) {
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

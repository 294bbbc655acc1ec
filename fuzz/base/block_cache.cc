#include "fuzz/base/block_cache.h"

#include <dlfcn.h>
#include <malloc.h>

#include <array>
#include <atomic>
#include <bit>
#include <cstdlib>
#include <new>
#include <utility>

#include "graph/sanitizers.h"

namespace fusesmith::fuzz {

namespace {

constexpr size_t kStep = 16, kSmall = 1024, kSmallClasses = kSmall / kStep;

}  // namespace

size_t size_of_block_class(size_t index) {
  if (index < kSmallClasses) return (index + 1) * kStep;
  const size_t above = index - kSmallClasses;
  return (kSmall << above / 4) / 4 * (5 + above % 4);
}

size_t block_class_for(size_t size) {
  if (size <= kSmall) return size == 0 ? 0 : (size - 1) / kStep;
  const auto doublings = static_cast<size_t>(std::bit_width(size - 1)) - 11;  // (1024 << that, 2048 << that]
  const size_t quarter = (kSmall << doublings) / 4;
  return doublings >= 10 ? kBlockClasses : kSmallClasses + doublings * 4 + (size - 1) / quarter - 4;
}

#if !FUSESMITH_ADDRESS_SANITIZER

namespace {

struct Block {
  Block* next;
};

constexpr size_t kFirstLarge = kSmallClasses + 3 * 4;
static_assert((kSmall << 3) == kLargeBlock);

// Constant-initialised and without a destructor, since memory is freed before and after those of other
// objects.
struct Cache {
  std::array<Block*, kBlockClasses> kept;
  BlockCounts counts;
  enum class State : uint8_t { unknown, on, off } state;
};
thread_local constinit Cache cache = {};

// Frees what the thread keeps, from this class on.
void free_kept(size_t first_class) {
  for (size_t index = first_class; index < kBlockClasses; ++index) {
    Block*& first = cache.kept[index];
    while (first) std::free(std::exchange(first, first->next));
  }
  cache.counts.kept_bytes = 0;
}

struct Release {
  ~Release() {
    cache.state = Cache::State::off;
    free_kept(0);
  }
};

// Whether malloc is that of the C library.
bool is_own_malloc() {
  const void* const here = dlsym(RTLD_DEFAULT, "malloc");
  return here && here == dlsym(RTLD_DEFAULT, "__libc_malloc");
}

[[gnu::noinline]] bool switch_on() {
  static std::atomic<int> own = 0;  // 1: yes, -1: no
  cache.state = Cache::State::off;  // while dlsym or the registration below allocates
  if (own == 0) own = is_own_malloc() ? 1 : -1;
  if (own != 1) return false;
  [[maybe_unused]] thread_local const Release release;
  cache.state = Cache::State::on;
  return true;
}

[[gnu::noinline]] void* from_malloc(size_t size) {
  ++cache.counts.from_malloc;
  for (;;) {
    if (void* memory = std::malloc(size)) return memory;
    if (const std::new_handler handler = std::get_new_handler())
      handler();
    else
      throw std::bad_alloc();
  }
}

inline void* allocate(size_t size) {
  ++cache.counts.allocations;
  const size_t index = block_class_for(size);
  if (index == kBlockClasses) return from_malloc(size);
  if (Block* const block = cache.kept[index]) {
    cache.kept[index] = block->next;
    if (index >= kFirstLarge) cache.counts.kept_bytes -= size_of_block_class(index);
    return block;
  }
  return from_malloc(size_of_block_class(index));
}

// `index`: of a class whose blocks are not larger than this one.
inline void release(void* memory, size_t index) {
  if (index >= kBlockClasses) return std::free(memory);
  if (cache.state != Cache::State::on && (cache.state == Cache::State::off || !switch_on()))
    return std::free(memory);
  if (index >= kFirstLarge) {
    const size_t bytes = size_of_block_class(index);
    if (cache.counts.kept_bytes + bytes > kMostKeptBytes) free_kept(kFirstLarge);
    cache.counts.kept_bytes += bytes;
  }
  cache.kept[index] = new (memory) Block{cache.kept[index]};
}

}  // namespace

BlockCounts block_counts() { return cache.counts; }

#else

BlockCounts block_counts() { return {}; }

#endif

}  // namespace fusesmith::fuzz

#if !FUSESMITH_ADDRESS_SANITIZER

// The library's other forms of new, but those with an alignment, call these.
void* operator new(size_t size) { return fusesmith::fuzz::allocate(size); }
void operator delete(void* memory, size_t size) noexcept {
  if (memory) fusesmith::fuzz::release(memory, fusesmith::fuzz::block_class_for(size));
}
void operator delete[](void* memory, size_t size) noexcept { operator delete(memory, size); }
void operator delete(void* memory) noexcept {
  if (!memory) return;
  const size_t above = fusesmith::fuzz::block_class_for(malloc_usable_size(memory) + 1);
  fusesmith::fuzz::release(memory, above == fusesmith::fuzz::kBlockClasses ? above : above - 1);
}

#endif

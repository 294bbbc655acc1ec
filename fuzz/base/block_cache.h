// The memory of operator new and delete: each thread keeps the blocks that it frees, up to a limit, and takes
// them again without a call of malloc. A case needs thousands of short-lived blocks of the same sizes, and
// above 1 KiB malloc merges and splits them each time. Replaces the operators in every program that links
// this file, except under AddressSanitizer, which must see each block come and go.
//
// Nothing is kept if another library provides malloc (a preloaded allocator, scripts/failing_malloc.cc): it
// then sees every allocation.
#pragma once

#include <cstddef>
#include <cstdint>

namespace fusesmith::fuzz {

struct BlockCounts {
  uint64_t allocations = 0;  // by operator new, since the thread began
  uint64_t from_malloc = 0;  // of these: not taken from the thread's kept blocks
  size_t kept_bytes = 0;     // now; of large blocks
};

// Of the calling thread; zeros in builds without the cache.
BlockCounts block_counts();

// One thread keeps at most so many bytes of large blocks: when there would be more, all of them go back to
// malloc, since the next case may need other sizes. Of smaller blocks it keeps all.
inline constexpr size_t kMostKeptBytes = size_t{24} << 20, kLargeBlock = size_t{8} << 10;

// The block sizes: steps of 16 bytes up to 1 KiB, then four for each power of two, up to 1 MiB.
inline constexpr size_t kBlockClasses = 64 + 40;
size_t size_of_block_class(size_t index);
// The smallest class for `size` bytes; kBlockClasses if it is larger than all.
size_t block_class_for(size_t size);

}  // namespace fusesmith::fuzz

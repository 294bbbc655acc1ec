#include "fuzz/base/block_cache.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cstring>
#include <memory>
#include <thread>
#include <vector>

#include "graph/sanitizers.h"

namespace fusesmith::fuzz {
namespace {

TEST(BlockCache, ClassesHoldTheirSizesAndWasteAtMostAQuarter) {
  size_t before = 0;
  for (size_t index = 0; index < kBlockClasses; ++index) {
    const size_t size = size_of_block_class(index);
    EXPECT_EQ(block_class_for(before + 1), index);
    EXPECT_EQ(block_class_for(size), index);
    EXPECT_GT(size, before);
    EXPECT_EQ(size % 16, 0U);
    if (size > 64) EXPECT_LE(size, (before + 1) * 5 / 4);
    before = size;
  }
  EXPECT_EQ(before, size_t{1} << 20);
  EXPECT_EQ(block_class_for(before + 1), kBlockClasses);
  EXPECT_EQ(block_class_for(SIZE_MAX), kBlockClasses);
  EXPECT_EQ(block_class_for(0), 0U);
}

#if !FUSESMITH_ADDRESS_SANITIZER

void use(size_t size) {
  std::vector<char> block(size, 'x');
  asm volatile("" : : "r"(block.data()) : "memory");
}

TEST(BlockCache, TakesFreedBlocksAgain) {
  for (const size_t size : {1, 16, 17, 1000, 1025, 5000, 100'000, 1 << 20}) {
    use(size);
    const BlockCounts before = block_counts();
    for (int i = 0; i < 10; ++i) use(size);
    const BlockCounts after = block_counts();
    EXPECT_EQ(after.allocations, before.allocations + 10) << size;
    EXPECT_EQ(after.from_malloc, before.from_malloc) << size;
    EXPECT_EQ(after.kept_bytes, before.kept_bytes) << size;
  }
}

TEST(BlockCache, LeavesLargeBlocksToMalloc) {
  const BlockCounts before = block_counts();
  for (int i = 0; i < 3; ++i) use((size_t{1} << 20) + 1);
  EXPECT_EQ(block_counts().from_malloc, before.from_malloc + 3);
  EXPECT_EQ(block_counts().kept_bytes, before.kept_bytes);
}

TEST(BlockCache, KeepsNoMoreThanItsLimit) {
  constexpr size_t kBlock = size_t{1} << 19;
  {
    std::vector<std::vector<char>> blocks;
    for (size_t bytes = 0; bytes < 2 * kMostKeptBytes; bytes += kBlock) blocks.emplace_back(kBlock);
  }
  EXPECT_LE(block_counts().kept_bytes, kMostKeptBytes);
  EXPECT_GT(block_counts().kept_bytes, 0U);
}

// A block that another thread freed, and threads that come and go.
TEST(BlockCache, BlocksMayBeFreedByAnotherThread) {
  for (int round = 0; round < 20; ++round) {
    std::vector<std::unique_ptr<std::vector<char>>> made;
    std::thread([&] {
      for (size_t i = 0; i < 200; ++i) made.push_back(std::make_unique<std::vector<char>>(i * 50, 'y'));
    }).join();
    std::thread([&] {
      for (const auto& block : made) EXPECT_EQ(std::count(block->begin(), block->end(), 'y'), block->size());
      made.clear();
      EXPECT_GT(block_counts().kept_bytes, 0U);
    }).join();
  }
}

// Blocks whose size delete is not told.
TEST(BlockCache, ArraysAreTakenAgainToo) {
  const auto use_array = [](size_t size) {
    const auto array = std::make_unique_for_overwrite<float[]>(size);
    std::memset(array.get(), 1, size * sizeof(float));
    asm volatile("" : : "r"(array.get()) : "memory");
  };
  for (const size_t size : {3, 300, 3000}) {
    use_array(size);
    const BlockCounts before = block_counts();
    for (int i = 0; i < 10; ++i) use_array(size);
    EXPECT_EQ(block_counts().from_malloc, before.from_malloc) << size;
  }
}

#endif

}  // namespace
}  // namespace fusesmith::fuzz

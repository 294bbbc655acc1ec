#include "backends/cuda/runtime/grow_memory.h"

#include <gtest/gtest.h>

#include <vector>

namespace fusesmith::backends {
namespace {

// A device with so many free bytes, of which idle workers hold some.
struct Device {
  int64_t free, idle = 0;
  std::vector<int64_t> asked{};

  int64_t grow(int64_t bytes, int64_t least) {
    return grow_memory(
        bytes, least,
        [this](int64_t size) {
          asked.push_back(size);
          return size <= free;
        },
        [this] { free += std::exchange(idle, 0); });
  }
};

TEST(GrowMemory, TakesAQuarterMore) {
  Device device{1000};
  EXPECT_EQ(device.grow(400, 16), 500);
  EXPECT_EQ(device.grow(4, 16), 16);
  EXPECT_EQ(device.asked, (std::vector<int64_t>{500, 16}));
}

TEST(GrowMemory, TakesBackWhatIdleWorkersHold) {
  Device device{300, 700};
  EXPECT_EQ(device.grow(400, 16), 500);
  EXPECT_EQ(device.idle, 0);
}

TEST(GrowMemory, TakesTheExactSizeBeforeItGivesUp) {
  Device device{450};
  EXPECT_EQ(device.grow(400, 16), 400);
  EXPECT_EQ(device.asked.back(), 400);
  EXPECT_EQ(device.grow(5, 1000), 5);
}

TEST(GrowMemory, SaysWhenThereIsNotEnough) {
  Device device{300, 50};
  EXPECT_EQ(device.grow(400, 16), 0);
}

}  // namespace
}  // namespace fusesmith::backends

#include "fuzz/base/exit_code.h"

#include <gtest/gtest.h>

namespace fusesmith::fuzz {
namespace {

TEST(ExitCode, OfSeveralCasesIsTheGravest) {
  const int order[] = {kDeviceUnhealthy, kInterrupted, kPreempted, kCannotWrite,
                       kFindings,        kOutOfMemory, kUsage,     kClean};
  for (size_t i = 0; i < std::size(order); ++i) {
    for (size_t j = i; j < std::size(order); ++j) {
      EXPECT_EQ(more_severe(order[i], order[j]), order[i]);
      EXPECT_EQ(more_severe(order[j], order[i]), order[i]);
    }
  }
}

}  // namespace
}  // namespace fusesmith::fuzz

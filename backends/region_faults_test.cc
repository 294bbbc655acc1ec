#include "backends/region_faults.h"

#include <gtest/gtest.h>

namespace fusesmith::backends {
namespace {

TEST(RegionFaults, StrikeRegionsOfTheirOwnPattern) {
  if (!kFaultsBuilt) GTEST_SKIP() << "this build contains no faults";
  const Faults on({"no_rescale"});
  EXPECT_TRUE((RegionFaults{"sdpa", on}.planted("no_rescale")));
  EXPECT_FALSE((RegionFaults{"sdpa", on}.planted("extra_zero_logit")));
  EXPECT_FALSE((RegionFaults{"gate", on}.planted("no_rescale")));
  EXPECT_FALSE((RegionFaults{"", on}.planted("no_rescale")));
  EXPECT_FALSE((RegionFaults{"sdpa", Faults()}.planted("no_rescale")));
}

TEST(RegionFaults, ANameThatNoFaultHasNeverStrikes) {
  const Faults on({"no_such_fault"});
  EXPECT_FALSE((RegionFaults{"sdpa", on}.planted("no_such_fault")));
}

}  // namespace
}  // namespace fusesmith::backends

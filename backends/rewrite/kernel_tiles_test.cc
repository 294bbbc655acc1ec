#include "backends/rewrite/kernel_tiles.h"

#include <gtest/gtest.h>

#include <set>

#include "backends/rewrite/pattern.h"

namespace fusesmith::backends {
namespace {

TEST(KernelTiles, AreOfPatternsAndOfTheListedSizes) {
  std::set<int64_t> sizes;
  for (const KernelTile& tile : kKernelTiles) {
    EXPECT_NE(find_pattern(tile.pattern), nullptr) << tile.pattern;
    sizes.insert(tile.size);
  }
  EXPECT_EQ(sizes, std::set<int64_t>(kTileSizes.begin(), kTileSizes.end()));
  for (size_t i = 0; i < kTileSizes.size(); ++i) EXPECT_EQ(kTileSizeNames[i], std::to_string(kTileSizes[i]));
}

TEST(KernelTiles, FitOfASize) {
  EXPECT_EQ(fit_of(16, 16), TileFit::whole);
  EXPECT_EQ(fit_of(48, 16), TileFit::whole);
  EXPECT_EQ(fit_of(17, 16), TileFit::one_more);
  EXPECT_EQ(fit_of(33, 16), TileFit::one_more);
  EXPECT_EQ(fit_of(1, 16), TileFit::other);  // fills no tile
  EXPECT_EQ(fit_of(15, 16), TileFit::one_less);
  EXPECT_EQ(fit_of(31, 16), TileFit::one_less);
  EXPECT_EQ(fit_of(20, 16), TileFit::other);
}

}  // namespace
}  // namespace fusesmith::backends

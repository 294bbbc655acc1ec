// Every guard that a pattern names refuses one of its near misses, and none names what it does not declare.
#include <gtest/gtest.h>

#include <set>

#include "backends/rewrite/rewrite.h"

namespace fusesmith {
namespace {

std::set<std::string> refusals(const Pattern& pattern, std::span<const GraphRecipe> recipes) {
  std::set<std::string> guards;
  for (const GraphRecipe& recipe : recipes) {
    for (Dtype dtype : kFloatDtypes) {
      std::vector<Refusal> found;
      rewrite(recipe.build(dtype, {}), {}, {}, &found);
      for (const Refusal& refusal : found) {
        if (refusal.pattern == pattern.name) guards.insert(refusal.guard);
      }
    }
  }
  return guards;
}

TEST(Guards, EachRefusesANearMiss) {
  for (const Pattern& pattern : all_patterns()) {
    const std::set<std::string> declared(pattern.guards.begin(), pattern.guards.end());
    EXPECT_EQ(refusals(pattern, pattern.near_misses), declared) << pattern.name;
  }
}

}  // namespace
}  // namespace fusesmith

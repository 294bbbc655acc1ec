// What makes an in-place update legal: its guards, each named by a near miss, and the place it gets among the
// regions that read the old state.
#include <gtest/gtest.h>

#include <algorithm>
#include <set>

#include "backends/rewrite/cache_update/cache_update.h"
#include "backends/rewrite/matching/example_graph.h"
#include "backends/rewrite/matching/slice_moves.h"
#include "backends/rewrite/rewrite.h"

namespace fusesmith::backends {
namespace {

const Pattern& pattern() { return *find_pattern("cache_update_in_place"); }

const CacheUpdate* update_in(const std::vector<FusedRegion>& regions) {
  for (const FusedRegion& fused : regions) {
    if (const auto* update = std::get_if<CacheUpdate>(&fused.op)) return update;
  }
  return nullptr;
}

TEST(CacheUpdateInPlace, EveryGuardRefusesANearMiss) {
  std::set<std::string> named;
  for (const GraphRecipe& recipe : pattern().near_misses) {
    std::vector<Refusal> refusals;
    rewrite(recipe.build(Dtype::bf16, {}), {}, {}, &refusals);
    std::erase_if(refusals, [](const Refusal& refusal) { return refusal.pattern != pattern().name; });
    EXPECT_FALSE(refusals.empty()) << recipe.name;
    for (const Refusal& refusal : refusals) named.insert(refusal.guard);
  }
  EXPECT_EQ(named, std::set<std::string>(pattern().guards.begin(), pattern().guards.end()));
}

Graph example(std::string_view name) {
  for (const GraphRecipe& recipe : pattern().examples) {
    if (recipe.name == name) return recipe.build(Dtype::bf16, {});  // a window of 9
  }
  check(false, "no such example");
  std::abort();
}

TEST(CacheUpdateInPlace, ReadsShiftsAndPlacesFromAttributes) {
  const auto update_of = [](std::string_view name) { return *update_in(rewrite(example(name), {})); };
  for (const char* name :
       {"cat", "roll_and_overwrite", "gather_and_overwrite", "permuted_gather_and_overwrite"}) {
    const CacheUpdate update = update_of(name);
    EXPECT_EQ(update.size, 9) << name;
    EXPECT_EQ(update.shift, 1) << name;
    EXPECT_EQ(update.count, 1) << name;
    EXPECT_EQ(update.first, 8) << name;
    EXPECT_FALSE(update.indices) << name;
  }
  EXPECT_EQ(update_of("cat_in_front").shift, 8);
  EXPECT_EQ(update_of("cat_in_front").first, 0);
  EXPECT_EQ(update_of("cat_of_many").shift, 5);
  EXPECT_EQ(update_of("index_copy").shift, 0);
  EXPECT_EQ(update_of("index_copy").first, 3);
  EXPECT_TRUE(update_of("index_copy_at_token").indices);
  EXPECT_EQ(update_of("roll").count, 0);
}

// All that reads the old cache, then the update, then what reads the new one.
TEST(CacheUpdateInPlace, WaitsForReadersOfTheOldState) {
  ExampleGraph g(Dtype::f32);
  const ValueId row = g.tensor("row", {1, 4}), x = g.tensor("x", {3, 6}), y = g.tensor("y", {3, 6});
  const ValueId cache = g.state("cache", {6, 4});
  const ValueId next = g.node(Concat{0}, g.node(Slice{0, 1, 6}, cache), row);
  const ValueId of_new = g.node(Matmul{}, x, next), of_old = g.node(Matmul{}, y, cache);
  g.next(cache, next);
  const auto regions = rewrite(g.outputs(of_new, of_old), {});
  ASSERT_EQ(regions.size(), 3U);
  EXPECT_EQ(regions[0].region.outputs, std::vector<ValueId>{of_old});
  EXPECT_EQ(regions[1].region.outputs, std::vector<ValueId>{next});
  EXPECT_EQ(regions[2].region.outputs, std::vector<ValueId>{of_new});
  if (!kFaultsBuilt) return;
  CompileOptions faulty;
  faulty.faults = Faults({"new_state_seen_by_old_readers"});
  const auto lost = rewrite(g.outputs(), faulty);
  ASSERT_NE(update_in(lost), nullptr);
  EXPECT_TRUE(update_in(lost)->old_value_lost);
  EXPECT_FALSE(update_in(regions)->old_value_lost);
}

// Each row comes from the other's old state: one of the two must keep its own memory.
TEST(CacheUpdateInPlace, TwoThatWaitForEachOtherAreNotBothInPlace) {
  ExampleGraph g(Dtype::f32);
  const ValueId a = g.state("a", {6, 4}), b = g.state("b", {6, 4});
  const auto updated = [&](ValueId cache, ValueId rows) {
    return g.node(IndexCopy{0}, cache, g.node(Flip{{0}}, g.node(Arange{6})), rows);
  };
  const ValueId next_a = updated(a, b), next_b = updated(b, a);
  g.next(a, next_a);
  g.next(b, next_b);
  std::vector<Refusal> refusals;
  const auto regions = rewrite(g.outputs(next_a, next_b), {}, {}, &refusals);
  const auto in_place = [](const FusedRegion& fused) {
    return std::holds_alternative<CacheUpdate>(fused.op);
  };
  EXPECT_EQ(std::count_if(regions.begin(), regions.end(), in_place), 1);
  ASSERT_EQ(refusals.size(), 1U);
  EXPECT_EQ(refusals[0].guard, "old_state_read_later");
}

TEST(SliceMoves, NoSliceIsOverwrittenBeforeItWasRead) {
  for (int64_t size = 1; size <= 9; ++size) {
    for (int64_t shift = 0; shift < size; ++shift) {
      for (int64_t count = 0; count <= size; ++count) {
        CacheUpdate update;
        update.size = size;
        update.shift = shift;
        update.count = count;
        update.first = size - count;
        std::vector<int64_t> slices(static_cast<size_t>(size));
        for (int64_t i = 0; i < size; ++i) slices[static_cast<size_t>(i)] = i;
        const SliceMoves moves = moves_of(update);
        const auto from = slices.begin() + moves.around.from;
        const std::vector<int64_t> aside(from, from + moves.around.count);
        for (int64_t k = 0; k < moves.along.count; ++k) {
          const int64_t i = moves.last_first ? moves.along.count - 1 - k : k;
          slices[static_cast<size_t>(moves.along.to + i)] = slices[static_cast<size_t>(moves.along.from + i)];
        }
        std::copy(aside.begin(), aside.end(), slices.begin() + moves.around.to);
        for (int64_t i = 0; i < size - count; ++i)
          EXPECT_EQ(slices[static_cast<size_t>(i)], (i + shift) % size) << size << " by " << shift;
      }
    }
  }
}

}  // namespace
}  // namespace fusesmith::backends

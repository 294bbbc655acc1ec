// pytorch#159855: three updates of a sliding-window cache, equal in meaning, end in the same bits on every
// backend and in every repeat.
#include <gtest/gtest.h>

#include "fuzz/backends.h"
#include "fuzz/files.h"
#include "fuzz/run_case.h"

namespace fusesmith {
namespace {

constexpr const char* kUpdates[] = {"index_copy", "cat", "roll"};
constexpr int kRepeats = 100;

Case scenario(const char* update, const char* size) {
  auto test_case = read_case_file(std::string(FUSESMITH_SOURCE_DIR) +
                                  "/corpus/scenarios/sliding_window_cache_" + update + size + ".json");
  EXPECT_TRUE(test_case.ok()) << test_case.problem();
  return std::move(*test_case);
}

void expect_same_caches(const char* size, int repeats) {
  std::vector<TensorPtr> first;
  for (const char* update : kUpdates) {
    const Case test_case = scenario(update, size);
    for (const char* backend : {"cpu", "cpu_fused"}) {
      for (int i = 0; i < repeats; ++i) {
        const auto states = final_states(test_case, *find_backend(backend));
        ASSERT_TRUE(states.ok()) << states.problem();
        ASSERT_EQ(states->size(), 2U);
        if (first.empty()) first = *states;
        for (size_t s = 0; s < states->size(); ++s)
          ASSERT_EQ(*(*states)[s], *first[s]) << update << " on " << backend << ", repeat " << i;
      }
    }
  }
}

TEST(CacheScenario, SmallCachesEndAlike) { expect_same_caches("_small", kRepeats); }
TEST(CacheScenario, FullCachesEndAlike) { expect_same_caches("", kRepeats); }

// The caches do move: what was the second row is the first one after a step, and the last one is new.
TEST(CacheScenario, TheWindowSlides) {
  Case test_case = scenario("roll", "_small");
  test_case.steps = 1;
  const auto states = final_states(test_case, *find_backend("cpu"));
  ASSERT_TRUE(states.ok());
  const State& cache = test_case.graph.states()[0];
  const Tensor before = materialize(cache.fill, cache.type, test_case.seed, cache.name, 0);
  const int64_t rows = cache.type.shape[2], columns = cache.type.shape[3];
  for (int64_t i = 0; i < (rows - 1) * columns; ++i)
    EXPECT_EQ((*states)[0]->value(i), before.value(i + columns));
}

}  // namespace
}  // namespace fusesmith

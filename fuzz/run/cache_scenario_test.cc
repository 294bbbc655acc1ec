// pytorch#159855: three updates of a sliding-window cache, equal in meaning, end in the same bits on every
// backend and in every repeat; and an update in place whose rows move in the wrong order is a finding.
#include <gtest/gtest.h>

#include "fuzz/base/files.h"
#include "fuzz/findings/shrinking.h"
#include "fuzz/run/backends.h"
#include "fuzz/run/judging.h"
#include "fuzz/run/run_case.h"

namespace fusesmith::fuzz {
namespace {

constexpr const char* kUpdates[] = {"index_copy", "cat", "roll"};
constexpr int kRepeats = 100;
constexpr const char* kPattern = "cache_update_in_place";

Case scenario(const std::string& update, const char* size) {
  auto test_case = read_case_file(std::string(FUSESMITH_SOURCE_DIR) +
                                  "/corpus/scenarios/sliding_window_cache_" + update + size + ".json");
  EXPECT_TRUE(test_case.ok()) << test_case.problem();
  return std::move(*test_case);
}

// Why the backend cannot run here, or nothing.
std::string why_not(const char* backend) {
  const Backend* found = find_backend(backend);
  return found ? found->unavailable().value_or("") : std::string(backend) + " is not in this build";
}

class CacheScenario : public testing::TestWithParam<const char*> {
 protected:
  void SetUp() override {
    if (const std::string why = why_not(GetParam()); !why.empty()) GTEST_SKIP() << why;
  }

  void expect_same_caches(const char* size) const {
    const auto wanted = final_states(scenario(kUpdates[0], size), *find_backend("cpu"));
    ASSERT_TRUE(wanted.ok()) << wanted.problem();
    ASSERT_EQ(wanted->size(), 2U);
    for (const char* update : kUpdates) {
      const Case test_case = scenario(update, size);
      for (int i = 0; i < kRepeats; ++i) {
        const auto states = final_states(test_case, *find_backend(GetParam()));
        ASSERT_TRUE(states.ok()) << states.problem();
        for (size_t s = 0; s < wanted->size(); ++s)
          ASSERT_EQ(*(*states)[s], *(*wanted)[s]) << update << ", repeat " << i;
      }
    }
  }
};

TEST_P(CacheScenario, SmallCachesEndAlike) { expect_same_caches("_small"); }
TEST_P(CacheScenario, FullCachesEndAlike) { expect_same_caches(""); }

INSTANTIATE_TEST_SUITE_P(Backends, CacheScenario, testing::Values("cpu", "cpu_fused", "cuda", "cuda_fused"));

// The caches do move: what was the second row is the first one after a step, and the last one is new.
TEST(CacheScenarioWindow, Slides) {
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

class CachePair : public testing::TestWithParam<std::pair<const char*, const char*>> {
 protected:
  void SetUp() override {
    for (const char* backend : {GetParam().first, GetParam().second}) {
      if (const std::string why = why_not(backend); !why.empty()) GTEST_SKIP() << why;
    }
  }
  Judging judging(std::vector<std::string> faults) const {
    JudgeFlags flags;
    flags.baseline = GetParam().first;
    flags.candidate = GetParam().second;
    flags.faults = std::move(faults);
    return Judging(flags);
  }
};

TEST_P(CachePair, UpdatesInPlaceAndLawfully) {
  for (const char* update : kUpdates) {
    const CaseRun run = judging({}).run(scenario(update, ""));
    EXPECT_FALSE(run.verdict.finding) << update << ": " << run.verdict.signature_text();
    EXPECT_EQ(run.verdict.verdict, VerdictClass::precision_policy) << update;
    int in_place = 0;
    for (const RegionVerdict& region : run.verdict.candidate.regions)
      in_place += !region.patterns.empty() && region.patterns.front() == kPattern;
    EXPECT_EQ(in_place, 2) << update;
  }
}

TEST_P(CachePair, TheHazardIsFoundAndMinimized) {
  if (!kFaultsBuilt) GTEST_SKIP() << "a build without faults";
  const Judging faulty = judging({"cache_shift_races"});
  for (const char* update : kUpdates) {
    SCOPED_TRACE(update);
    Case test_case = scenario(update, "");
    test_case.expect.reset();
    Verdict verdict;
    int runs = 0;
    while (!verdict.finding && runs++ < 100) verdict = faulty.quick().run(test_case).verdict;
    ASSERT_TRUE(verdict.finding);
    EXPECT_TRUE(verdict.verdict == VerdictClass::nondeterministic || verdict.verdict == VerdictClass::defect);
    ASSERT_TRUE(verdict.signature);
    EXPECT_EQ(verdict.signature->component, kPattern);
    const Shrunk shrunk =
        shrink(test_case, reproduce(test_case, verdict.signature_text(), faulty), faulty, {});
    EXPECT_TRUE(shrunk.result.fails);
    EXPECT_LE(shrunk.result.test_case.graph.nodes().size(), 6U) << to_json(shrunk.result.test_case);
  }
}

INSTANTIATE_TEST_SUITE_P(Pairs, CachePair,
                         testing::Values(std::pair("cpu", "cpu_fused"), std::pair("cuda", "cuda_fused")),
                         [](const auto& param_info) { return std::string(param_info.param.second); });

}  // namespace
}  // namespace fusesmith::fuzz

// Engines of campaigns: the same counts however many processes, the engine of a campaign that goes on, and
// what focused cases meet.
#include <gtest/gtest.h>

#include "fuzz/campaign/guided_choices.h"
#include "fuzz/campaign/supervision_test.h"
#include "fuzz/counts/coverage.h"
#include "fuzz/generate/generator.h"

namespace fusesmith::fuzz {
namespace {

TEST_F(Supervision, FocusedCasesAreTheSameForAnyProcesses) {
  ASSERT_EQ(fuzz("--engine=focused --runs=40 --jobs=1 --processes=0", "here"), kClean) << err();
  ASSERT_EQ(fuzz("--engine=focused --runs=40 --jobs=2 --processes=2", "w"), kClean) << err();
  EXPECT_EQ(counts("w"), counts("here"));
  ASSERT_EQ(fuzz("--engine=random --runs=40 --jobs=2", "other"), kClean) << err();
  EXPECT_NE(counts("other")["coverage"], counts("here")["coverage"]);
}

TEST_F(Supervision, ACampaignGoesOnWithItsEngine) {
  for (const std::string engine : {"random", "focused"}) {
    ASSERT_EQ(fuzz("--runs=20 --jobs=2 --engine=" + engine, "whole-" + engine), kClean) << err();
    ASSERT_EQ(fuzz("--runs=10 --jobs=2 --engine=" + engine, engine), kClean) << err();
    ASSERT_EQ(fuzz("--runs=10 --jobs=2", engine), kClean) << err();
    EXPECT_EQ(counts(engine), counts("whole-" + engine));
  }
  EXPECT_EQ(fuzz("--runs=1 --engine=random", "focused"), kUsage);
  EXPECT_NE(err().find("engine \"focused\", not \"random\""), std::string::npos) << err();
}

// The campaign ends although libFuzzer would not, and goes on with what libFuzzer kept.
TEST_F(Supervision, LibFuzzerMakesTheChoices) {
  if (!kHasLibFuzzer)
    GTEST_SKIP() << "no libFuzzer in this build: not found, or left out beside AddressSanitizer";
  ASSERT_EQ(fuzz("--engine=libfuzzer --runs=60", "w"), kClean) << err();
  EXPECT_EQ(stats("w")["cases"], 60);
  EXPECT_EQ(stats("w")["invalid"], 0);
  EXPECT_FALSE(std::filesystem::is_empty(folder_ / "w/choices"));
  ASSERT_EQ(fuzz("--engine=libfuzzer --runs=60 --processes=0", "here"), kClean) << err();
  EXPECT_EQ(counts("here"), counts("w"));
  ASSERT_EQ(fuzz("--runs=40", "w"), kClean) << err();
  EXPECT_EQ(stats("w")["cases"], 100);
}

TEST_F(SupervisionWithFaults, LibFuzzerFindsAFault) {
  if (!kHasLibFuzzer)
    GTEST_SKIP() << "no libFuzzer in this build: not found, or left out beside AddressSanitizer";
  ASSERT_EQ(fuzz("--engine=libfuzzer --runs=500 --faults=k_tail_skipped --max_findings=1", "w"), kFindings)
      << err();
  EXPECT_LT(stats("w")["cases"], 500);
}

// 100 times in 100,000 cases; with the random engine, 56 ops with a layout are rarer.
TEST(Engine, EveryOpReadsEveryLayout) {
  constexpr int64_t kCases = 4000, kWanted = kCases * 100 / 100'000;
  const GeneratorOptions options{.engine = Engine::focused};
  Coverage coverage;
  for (int64_t counter = 0; counter < kCases; ++counter) {
    const Case test_case = generate_case(1, 0, static_cast<uint64_t>(counter), options);
    CoverageEvents events;
    add_graph_events(events, test_case.graph, "");
    coverage.add(events);
    EXPECT_LE(test_case.graph.nodes().size(), static_cast<size_t>(options.max_nodes));
    int64_t elements = 0;
    for (ValueId v = 0; v < test_case.graph.value_count(); ++v)
      elements += element_count(test_case.graph.type(v));
    EXPECT_LE(elements, options.max_elements);
  }
  for (const std::string& op : op_names()) {
    if (coverage.sum("read", {op}) == 0) continue;  // it has no inputs
    for (std::string_view layout : kLayoutClasses)
      EXPECT_GE(coverage.sum("op_layouts", {op, layout}), kWanted) << op << " " << layout;
  }
}

}  // namespace
}  // namespace fusesmith::fuzz

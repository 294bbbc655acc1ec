#include "fuzz/run/trials.h"

#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

#include "fuzz/campaign/finding.h"
#include "fuzz/campaign/shrinking.h"
#include "fuzz/cli/test_support.h"
#include "graph/graph.h"

namespace fusesmith::fuzz {
namespace {

// A row-wise dot product between other nodes.
Case reduction_among_others() {
  Builder b;
  const ValueId x = b.input("x", {Dtype::f32, {3, 300}}, Normal{});
  const ValueId y = b.node(Scale{0.5}, {x}, "y");
  const ValueId dot = b.node(Einsum{"ij,ij->i"}, {x, y}, "dot");
  b.output(b.node(Relu{}, {dot}, "out"));
  Case test_case;
  test_case.graph = *b.build();
  return test_case;
}

class Trials : public testing::Test {
 protected:
  void SetUp() override {
    if (!kFaultsBuilt) GTEST_SKIP() << "a build without faults";
  }
  static Judging judging(const std::string& fault) {
    JudgeFlags flags;
    flags.baseline = "cpu", flags.candidate = "cpu_fused";
    if (!fault.empty()) flags.faults = {fault};
    return Judging(flags);
  }
};

constexpr char kSometimes[] = "reduction_order_varies", kAlways[] = "reduction_tail_skipped";

TEST(TrialsFor, SeesAFailureWithHighProbability) {
  EXPECT_EQ(trials_for({5, 5}), 1);
  EXPECT_EQ(trials_for({10, 20}), 6);  // 0.5^6 < 0.02 < 0.5^5
  EXPECT_EQ(trials_for({19, 20}), 2);
  EXPECT_EQ(trials_for({1, 20}), kMostTrials);
  EXPECT_EQ(trials_for({0, 20}), kMostTrials);
}

TEST_F(Trials, RatesTellSometimesFromAlways) {
  const Case test_case = reduction_among_others();
  const FailureRate always = failure_rate(test_case, {}, judging(kAlways));
  EXPECT_FALSE(always.sometimes());
  EXPECT_GT(always.failed, 1);
  const FailureRate sometimes = failure_rate(test_case, {}, judging(kSometimes));
  EXPECT_TRUE(sometimes.sometimes());
  EXPECT_GT(sometimes.failed, 0);
  EXPECT_GT(sometimes.runs, always.runs);
  const FailureRate never = failure_rate(test_case, {}, judging(""));
  EXPECT_EQ(never.failed, 0);
}

TEST_F(Trials, RunUntilFailingFindsTheFailure) {
  const CaseRun run = run_until_failing(reduction_among_others(), {}, judging(kSometimes), kMostTrials);
  EXPECT_EQ(run.verdict.signature, "nondeterministic-cpu_fused-einsum_to_pointwise-f32-repeat_differs");
  const CaseRun other =
      run_until_failing(reduction_among_others(), "another-signature", judging(kAlways), kMostTrials);
  EXPECT_TRUE(other.verdict.finding) << "the last run is given where none has the signature";
}

TEST_F(Trials, StopEndsThem) {
  int asked = 0;
  const FailureRate rate =
      failure_rate(reduction_among_others(), {}, judging(""), [&] { return ++asked > 3; });
  EXPECT_EQ(rate.runs, 3);
}

TEST_F(Trials, WhatFailsSometimesIsShrunk) {
  const Shrunk shrunk = shrink(reduction_among_others(), {}, judging(kSometimes), {});
  ASSERT_TRUE(shrunk.result.fails);
  EXPECT_EQ(shrunk.result.after.nodes, 1);
  EXPECT_TRUE(shrunk.rate.sometimes());
  EXPECT_GT(shrunk.rate.failed, 0);
  EXPECT_NE(shrink_text(shrunk).find("failing in " + std::to_string(shrunk.rate.failed) + " of "),
            std::string::npos)
      << shrink_text(shrunk);
}

TEST_F(Trials, FindingsSayTheRate) {
  TemporaryFolder folder;
  const Case test_case = reduction_among_others();
  ASSERT_FALSE(write_file(folder / "case.json", to_json(test_case)));
  const std::string signature = "nondeterministic-cpu_fused-einsum_to_pointwise-f32-repeat_differs";
  ASSERT_FALSE(finish_finding(folder.string(), signature, {judging(kSometimes), "", "fusesmith", true, {}}));
  const auto report = read_file(folder / "report.md");
  ASSERT_TRUE(report);
  EXPECT_NE(report->find("failing in "), std::string::npos) << *report;
  EXPECT_NE(report->find("replay --repeat="), std::string::npos) << *report;
  EXPECT_NE(report->find("disagrees with itself: dot["), std::string::npos) << *report;
  EXPECT_TRUE(read_case_file(folder / "min.json"));
}

TEST_F(Trials, ACaseThatPassesIsNotAskedForever) {
  const Shrunk shrunk = shrink(reduction_among_others(), {}, judging(""), {});
  EXPECT_FALSE(shrunk.result.fails);
  EXPECT_EQ(shrunk.result.queries, 0);
}

}  // namespace
}  // namespace fusesmith::fuzz

#include "fuzz/run/trials.h"

#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

#include "fuzz/cli/test_support.h"
#include "fuzz/findings/finding.h"
#include "fuzz/findings/shrinking.h"
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

Case gated() {
  Builder b;
  const TensorType type{Dtype::f32, {3, 5}};
  const ValueId x = b.input("x", type, Normal{}), y = b.input("y", type, Normal{});
  b.output(b.node(Mul{}, {b.node(Silu{}, {x}, "silu"), y}, "out"));
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
  const FailureRate always = reproduce(test_case, {}, judging(kAlways)).rate;
  EXPECT_FALSE(always.sometimes());
  EXPECT_GT(always.failed, 1);
  const Reproduction sometimes = reproduce(test_case, {}, judging(kSometimes));
  EXPECT_TRUE(sometimes.rate.sometimes());
  EXPECT_TRUE(sometimes.run.verdict.finding);
  EXPECT_GT(sometimes.rate.runs, always.runs);
  const Reproduction never = reproduce(test_case, {}, judging(""), 7);
  EXPECT_EQ(never.rate.failed, 0);
  EXPECT_EQ(never.rate.runs, 7);
}

TEST_F(Trials, RunUntilFailingFindsTheFailure) {
  const CaseRun run = run_until_failing(reduction_among_others(), {}, judging(kSometimes), kMostTrials);
  EXPECT_EQ(run.verdict.signature_text(),
            "nondeterministic-cpu_fused-einsum_to_pointwise-f32-repeat_differs");
  const CaseRun other =
      run_until_failing(reduction_among_others(), "another-signature", judging(kAlways), kMostTrials);
  EXPECT_TRUE(other.verdict.finding) << "the last run is given where none has the signature";
}

TEST_F(Trials, StopEndsThem) {
  int asked = 0;
  const Reproduction seen =
      reproduce(reduction_among_others(), {}, judging(""), kMostTrials, [&] { return ++asked > 3; });
  EXPECT_EQ(seen.rate.runs, 4);
}

TEST_F(Trials, WhatFailsSometimesIsShrunk) {
  const Case test_case = reduction_among_others();
  const Shrunk shrunk =
      shrink(test_case, reproduce(test_case, {}, judging(kSometimes)), judging(kSometimes), {});
  ASSERT_TRUE(shrunk.result.fails);
  EXPECT_EQ(shrunk.result.after.nodes, 1);
  EXPECT_TRUE(shrunk.seen.rate.sometimes());
  EXPECT_GT(shrunk.seen.rate.failed, 0);
  EXPECT_NE(shrink_text(shrunk).find("failing in " + std::to_string(shrunk.seen.rate.failed) + " of "),
            std::string::npos)
      << shrink_text(shrunk);
}

TEST_F(Trials, FindingsSayTheRate) {
  TemporaryFolder folder;
  const Case test_case = reduction_among_others();
  ASSERT_FALSE(write_file(folder / "case.json", to_json(test_case)));
  const std::string signature = "nondeterministic-cpu_fused-einsum_to_pointwise-f32-repeat_differs";
  ASSERT_FALSE(finish_finding(WorkPath(folder.string()), signature,
                              {judging(kSometimes), "", "fusesmith", "unknown", true, {}}));
  const auto report = read_file(folder / "report.md");
  ASSERT_TRUE(report);
  EXPECT_NE(report->find("failing in "), std::string::npos) << *report;
  EXPECT_NE(report->find("replay --repeat="), std::string::npos) << *report;
  EXPECT_NE(report->find("is inconsistent: einsum0["), std::string::npos) << *report;
  EXPECT_TRUE(read_case_file(folder / "min.json"));
}

// A finding is judged a few times before the first reduction, and nothing of that is judged again.
TEST_F(Trials, AFindingsCaseIsJudgedFiveTimes) {
  TemporaryFolder folder;
  const Case test_case = reduction_among_others();
  ASSERT_FALSE(write_file(folder / "case.json", to_json(test_case)));
  int runs = 0, runs_before_another = 0;
  const FailingBackend counted([&](const Graph& graph) {
    runs += graph == test_case.graph ? 1 : 0;
    if (graph != test_case.graph && runs_before_another == 0) runs_before_another = runs;
  });
  Judging judged = judging(kAlways);
  judged.candidate = "failing";
  const std::string signature = judged.run(test_case).verdict.signature_text();
  ASSERT_NE(signature, "");
  runs = 0;
  ASSERT_FALSE(
      finish_finding(WorkPath(folder.string()), signature, {judged, "", "fusesmith", "unknown", true, {}}));
  EXPECT_TRUE(read_case_file(folder / "min.json"));
  EXPECT_EQ(runs_before_another, 5);
  EXPECT_EQ(runs, 5);
}

// The options of the campaign are part of the finding's case; the minimizer takes away what does not matter.
TEST_F(Trials, OnlyThePatternsThatMatterStaySkipped) {
  const Case test_case = reduction_among_others();
  Judging judged = judging(kAlways);
  judged.options.skip_patterns = {"gate", "sdpa"};
  judged.options.implicit_casts = Policy::ImplicitCasts::strict;
  const Reproduction seen = reproduce(test_case, {}, judged);
  ASSERT_TRUE(seen.fails());
  EXPECT_EQ(shrink(test_case, seen, judged, {}).result.test_case.policy, Policy{});

  judged = judging("chain_tail_block_skipped");
  judged.options.skip_patterns = {"sdpa", "gate", "add_norm"};  // without gate's skip, gate takes both nodes
  const Reproduction chain = reproduce(gated(), {}, judged);
  ASSERT_TRUE(chain.fails());
  const Case smallest = shrink(gated(), chain, judged, {}).result.test_case;
  EXPECT_EQ(smallest.policy.skip_patterns, std::vector<std::string>{"gate"}) << to_json(smallest);
}

}  // namespace
}  // namespace fusesmith::fuzz

// Metamorphic checks of a case: what they find becomes the verdict, counted, and only where the case asks.
#include "fuzz/run/metamorphic_case.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>

#include "backends/rewrite/matching/example_graph.h"
#include "fuzz/report/verdict_text.h"
#include "fuzz/run/backends.h"

namespace fusesmith::fuzz {
namespace {

using testing::HasSubstr;

// Rows of 24 with statistics that notice in which order they are added up.
Case norm_case() {
  ExampleGraph g(Dtype::f32);
  const ValueId x = g.tensor("x", {6, 4, 24});
  Case test_case;
  test_case.seed = 5;
  test_case.graph = g.outputs(g.node(LayerNorm{}, x));
  test_case.policy.metamorphic = {"scaling", "exchange"};
  return test_case;
}

CaseRun judged_with_checks(const Case& test_case, const std::string& fault = {}) {
  RunOptions options;
  if (!fault.empty()) options.faults = Faults({fault});
  return run_case_traced(test_case, *find_backend("cpu"), *find_backend("cpu_fused"), options);
}

TEST(MetamorphicCase, CountsTheChecksOfTheCandidate) {
  Case test_case = norm_case();
  const CaseRun run = judged_with_checks(test_case);
  EXPECT_FALSE(run.verdict.finding) << sentence(run.verdict);
  EXPECT_EQ(run.metamorphic, (std::map<std::string, int64_t>{{"exchange", 2}})) << "two axes";
  test_case.policy.metamorphic = {"isolation"};
  EXPECT_EQ(judged_with_checks(test_case).metamorphic, (std::map<std::string, int64_t>{{"isolation", 1}}));
  test_case.policy.metamorphic = {"scaling"};
  EXPECT_TRUE(judged_with_checks(test_case).metamorphic.empty()) << "eps has its size, so nothing scales";
  test_case.policy.metamorphic = {};
  EXPECT_TRUE(judged_with_checks(test_case).metamorphic.empty());
}

TEST(MetamorphicCase, OrderOfARowThatDependsOnItsPlaceIsFoundByExchangeAlone) {
  if (!kFaultsBuilt) GTEST_SKIP() << "a build without faults";
  Case test_case = norm_case();
  const CaseRun run = judged_with_checks(test_case, "welford_order_by_row");
  EXPECT_TRUE(run.verdict.finding);
  EXPECT_EQ(run.verdict.signature_text(), "defect-cpu_fused-layer_norm_welford-f32-exchange_differs");
  EXPECT_THAT(sentence(run.verdict), HasSubstr("does not change as required if elements along a batch axis "
                                               "are exchanged (axis "));
  EXPECT_THAT(sentence(run.verdict), HasSubstr(": what was at place "));
  EXPECT_EQ(judged_with_checks(test_case, "welford_order_by_row").verdict.signature, run.verdict.signature);
  test_case.policy.metamorphic = {};
  EXPECT_FALSE(judged_with_checks(test_case, "welford_order_by_row").verdict.finding) << "every bound holds";
}

// relu(x) x underflows in f16 before the scaling by 4 and not after it.
TEST(MetamorphicCase, AnUnderflowThatScalingUndoesIsNoFinding) {
  ExampleGraph g(Dtype::f16);
  Case test_case;
  test_case.seed = 2304102931;
  const ValueId x = g.tensor("x1", {3, 2, 1});
  test_case.graph = g.outputs(g.node(Mul{}, g.node(Relu{}, x), x));
  test_case.policy.metamorphic = {"scaling"};
  const CaseRun run = judged_with_checks(test_case);
  EXPECT_FALSE(run.verdict.finding) << sentence(run.verdict);
  EXPECT_EQ(run.metamorphic.at("scaling"), 1);
}

// Attention of zeros: every bound holds, whichever mask of zeros is read.
TEST(MetamorphicCase, ARowOfAnotherBatchIsFoundByIsolationWhereDataHidesIt) {
  if (!kFaultsBuilt) GTEST_SKIP() << "a build without faults";
  ExampleGraph g(Dtype::f32);
  const auto zeros = [&](const char* name, Shape shape) {
    return g.tensor(name, std::move(shape), Constant{0});
  };
  const ValueId q = zeros("q", {3, 2, 4}), k = zeros("k", {3, 5, 4}), v = zeros("v", {3, 5, 4});
  Case test_case;
  test_case.graph = g.outputs(g.node(Sdpa{.mask = Sdpa::Mask::additive}, q, k, v, zeros("mask", {3, 2, 5})));
  test_case.policy.metamorphic = {"isolation"};
  int found = 0;
  for (test_case.seed = 0; test_case.seed < 40; ++test_case.seed) {
    const Verdict verdict = judged_with_checks(test_case, "mask_batch_index_dropped").verdict;
    if (!verdict.finding) continue;
    ++found;
    EXPECT_EQ(verdict.signature_text(), "defect-cpu_fused-sdpa-f32-depends_on_neighbours");
    EXPECT_THAT(sentence(verdict), HasSubstr("depends on elements that it is not computed from: "));
    EXPECT_THAT(sentence(verdict), HasSubstr(" in q["));
    EXPECT_FALSE(judged_with_checks(test_case).verdict.finding);
  }
  EXPECT_GT(found, 2);
}

TEST(MetamorphicCase, AKernelThatVariesByItselfIsNamedSo) {
  if (!kFaultsBuilt) GTEST_SKIP() << "a build without faults";
  ExampleGraph g(Dtype::f32);
  Case test_case;
  test_case.graph =
      g.outputs(g.node(Einsum{"bij,bij->bi"}, g.tensor("x", {3, 4, 24}), g.tensor("y", {3, 4, 24})));
  test_case.policy.metamorphic = {"exchange"};
  int found = 0;
  for (test_case.seed = 0; test_case.seed < 60; ++test_case.seed) {
    const Verdict verdict = judged_with_checks(test_case, "reduction_order_varies").verdict;
    if (!verdict.finding) continue;
    ++found;
    EXPECT_EQ(verdict.signature_text(), "nondeterministic-cpu_fused-einsum_to_pointwise-f32-repeat_differs")
        << "seed " << test_case.seed;
  }
  EXPECT_GT(found, 5);
}

// Every batch element reads the mask of the first one.
TEST(MetamorphicCase, WhatThePolicyNamesIsReplaced) {
  if (!kFaultsBuilt) GTEST_SKIP() << "a build without faults";
  ExampleGraph g(Dtype::f32);
  const ValueId q = g.tensor("q", {3, 2, 4}), k = g.tensor("k", {3, 5, 4}), v = g.tensor("v", {3, 5, 4});
  Case test_case;
  test_case.graph = g.outputs(
      g.node(Sdpa{.mask = Sdpa::Mask::additive}, q, k, v, g.tensor("mask", {3, 2, 5}, Constant{0})));
  test_case.policy.metamorphic = {"isolation"};
  const auto verdict_with = [&](const char* replaced) {
    test_case.policy.replaced = replaced;
    return judged_with_checks(test_case, "mask_batch_index_dropped").verdict;
  };
  const Verdict verdict = verdict_with("q[0,:,:] = nan");
  EXPECT_EQ(verdict.signature_text(), "defect-cpu_fused-sdpa-f32-depends_on_neighbours");
  EXPECT_THAT(sentence(verdict), HasSubstr("with NaN in q[0,:,:], k[0,:,:], v[0,:,:], mask[0,:,:]"));
  const BothRuns& row = verdict.failing()->row;
  EXPECT_EQ(row.before.size(), 4);
  EXPECT_EQ(row.before[static_cast<size_t>(verdict.failing()->worst.element - row.first)],
            verdict.failing()->worst.want);
  EXPECT_TRUE(std::isnan(row.after[0]));
  EXPECT_FALSE(verdict_with("mask[1:3,:,:] = nan").finding) << "nobody reads these masks";
}

TEST(MetamorphicCase, AFindingOfTheJudgeComesFirst) {
  if (!kFaultsBuilt) GTEST_SKIP() << "a build without faults";
  const CaseRun run = judged_with_checks(norm_case(), "layer_norm_unbiased_variance");
  EXPECT_EQ(run.verdict.signature_text(), "defect-cpu_fused-layer_norm_welford-f32-out_of_bounds");
  EXPECT_TRUE(run.metamorphic.empty());
}

}  // namespace
}  // namespace fusesmith::fuzz

// Every pattern keeps its contract on cpu_fused.
#include "backends/cpu_fused/cpu_fused_backend.h"
#include "backends/rewrite/kept_contract_test.h"
#include "backends/rewrite/matching/example_graph.h"

namespace fusesmith::backends {
namespace {

class PatternContract : public testing::TestWithParam<const Pattern*> {};

TEST_P(PatternContract, CoversItsExamples) {
  EXPECT_GT(testing_cases::expect_contract_kept(cpu_fused_backend(), *GetParam()), 0);
}

TEST_P(PatternContract, CoversItsExamplesUnderTf32) {
  CompileOptions options;
  options.tf32 = true;
  EXPECT_GT(testing_cases::expect_contract_kept(cpu_fused_backend(), *GetParam(),
                                                testing_cases::kContractDims, options, 2),
            0);
}

// A product of f32 is no longer that of IEEE operands, and the contract says so.
TEST(Tf32, ChangesProductsAndNothingElse) {
  for (const char* pattern : {"sdpa", "gemm_bias_act", "einsum_to_gemm", "pointwise_chain"}) {
    const Graph graph = find_pattern(pattern)->examples.front().build(Dtype::f32, {2, 2, 17, 33, 31, 17});
    CompileOptions options;
    options.tf32 = true;
    const std::vector<TensorPtr> inputs = testing_cases::inputs_of(graph, 0);
    const auto tf32 = std::move(*cpu_fused_backend().compile(graph, options));
    const auto ieee = std::move(*cpu_fused_backend().compile(graph, {}));
    const auto out = static_cast<size_t>(graph.outputs()[0]);
    const bool equal = *tf32->run(inputs).values[out] == *ieee->run(inputs).values[out];
    EXPECT_EQ(equal, std::string_view(pattern) == "pointwise_chain") << pattern;
    EXPECT_TRUE(tf32->plan().regions.back().contract.arithmetic.tf32);
  }
}

TEST(CpuFusedLawful, ExactDataHasOneResult) {
  testing_cases::expect_exact_on_exact_data(cpu_fused_backend(), true);
}

TEST(CpuFusedLawful, SpecialValuesHaveOneOutcome) {
  testing_cases::expect_special_outcomes(cpu_fused_backend());
}

INSTANTIATE_TEST_SUITE_P(All, PatternContract, testing::ValuesIn(testing_cases::pattern_pointers()),
                         [](const auto& param_info) { return std::string(param_info.param->name); });

TEST(NormContract, CoversLongRows) {
  for (const std::string_view name : testing_cases::kNormPatterns) {
    SCOPED_TRACE(name);
    EXPECT_GT(testing_cases::expect_contract_kept(cpu_fused_backend(), *find_pattern(name),
                                                  testing_cases::kLongRows),
              0);
  }
}

// The rounding of a logsumexp far from 0 is more than the bound of a softmax of exact scores allows.
TEST(AttentionBackwardContract, CoversScoresFarFromZero) {
  ExampleGraph g(Dtype::f32);
  const ValueId q = g.tensor("q", {3, 4}, Lattice{2, 0}), k = g.tensor("k", {8, 4}, Lattice{2, 0});
  const ValueId v = g.tensor("v", {8, 8}), dy = g.tensor("dy", {3, 8});
  const ValueId far = g.tensor("far", {3, 8}, Constant{1000});
  const ValueId p = g.node(Softmax{}, g.node(Add{}, g.node(Matmul{false, true}, q, k), far));
  const ValueId ds = g.node(SoftmaxBackward{}, g.node(Matmul{false, true}, dy, v), p);
  const ValueId dq = g.node(Matmul{}, ds, k), dk = g.node(Matmul{true, false}, ds, q);
  const Graph graph = g.outputs(dq, dk, g.node(Matmul{true, false}, p, dy));
  const BackendVerdict verdict = testing_cases::judge_on(cpu_fused_backend(), graph, 1);
  ASSERT_EQ(verdict.regions.size(), 1U);
  const RegionVerdict& region = verdict.regions[0];
  EXPECT_EQ(region.verdict, VerdictClass::precision_policy) << testing_cases::evidence(region);
  EXPECT_TRUE(region.declared);
  ASSERT_EQ(region.deviations.size(), 1U);
  EXPECT_EQ(to_string(region.deviations[0]), "lower " + graph.name(p) + " as softmax.of_logsumexp");
}

}  // namespace
}  // namespace fusesmith::backends

// Every pattern keeps its word on cpu_fused.
#include "backends/cpu_fused/cpu_fused_backend.h"
#include "backends/rewrite/kept_contract_test.h"

namespace fusesmith {
namespace {

class PatternContract : public testing::TestWithParam<const Pattern*> {};

TEST_P(PatternContract, CoversItsExamples) {
  EXPECT_GT(testing_cases::expect_contract_kept(cpu_fused_backend(), *GetParam()), 0);
}

TEST_P(PatternContract, CoversItsExamplesUnderTf32) {
  CompileOptions options;
  options.tf32 = true;
  EXPECT_GT(testing_cases::expect_contract_kept(cpu_fused_backend(), *GetParam(),
                                                testing_cases::kContractDims, options),
            0);
}

// A product of f32 is no longer that of IEEE operands, and the contract says so.
TEST(Tf32, ChangesProductsAndNothingElse) {
  for (const char* pattern : {"sdpa", "gemm_bias_act", "einsum_to_gemm", "pointwise_chain"}) {
    const Graph graph = find_pattern(pattern)->examples.front().build(Dtype::f32, {2, 2, 17, 33, 31, 17});
    CompileOptions options;
    options.tf32 = true;
    Case test_case;
    test_case.graph = graph;
    std::vector<TensorPtr> inputs;
    for (Tensor& tensor : make_inputs(test_case))
      inputs.push_back(std::make_shared<const Tensor>(std::move(tensor)));
    const auto tf32 = std::move(*cpu_fused_backend().compile(graph, options));
    const auto ieee = std::move(*cpu_fused_backend().compile(graph, {}));
    const auto out = static_cast<size_t>(graph.outputs()[0]);
    const bool equal = *tf32->run(inputs).values[out] == *ieee->run(inputs).values[out];
    EXPECT_EQ(equal, std::string_view(pattern) == "pointwise_chain") << pattern;
    EXPECT_TRUE(tf32->plan().regions.back().contract.arithmetic.tf32);
  }
}

INSTANTIATE_TEST_SUITE_P(All, PatternContract, testing::ValuesIn(testing_cases::pattern_pointers()),
                         [](const auto& param_info) { return std::string(param_info.param->name); });

}  // namespace
}  // namespace fusesmith

// Every pattern keeps its word on cuda_fused, at the tile boundaries of the GPU's kernels too, in ieee f32
// and in tf32; each run repeated, with its memory checked.
#include "backends/cuda_fused/cuda_fused_backend.h"
#include "backends/rewrite/kept_contract_test.h"

namespace fusesmith::backends {
namespace {

constexpr ExampleDims kGpuDims[] = {{1, 2, 64, 64, 64, 64},    {1, 1, 65, 127, 40, 72},
                                    {2, 3, 129, 63, 128, 128}, {1, 1, 100, 200, 256, 250},
                                    {1, 1, 31, 70, 300, 40},   {1, 2, 50, 300, 64, 64}};

constexpr size_t kShare = 3;  // the references of all of them would take minutes

class CudaPatternContract : public testing::TestWithParam<const Pattern*> {
 protected:
  void SetUp() override {
    if (const auto why = cuda_fused_backend().unavailable()) GTEST_SKIP() << *why;
  }
};

TEST_P(CudaPatternContract, CoversItsExamples) {
  EXPECT_GT(testing_cases::expect_contract_kept(cuda_fused_backend(), *GetParam()), 0);
}

TEST_P(CudaPatternContract, CoversTileBoundaries) {
  EXPECT_GT(testing_cases::expect_contract_kept(cuda_fused_backend(), *GetParam(), kGpuDims, {}, kShare), 0);
}

TEST_P(CudaPatternContract, CoversTf32) {
  CompileOptions options;
  options.tf32 = true;
  EXPECT_GT(testing_cases::expect_contract_kept(cuda_fused_backend(), *GetParam(), kGpuDims, options, kShare),
            0);
}

TEST(CudaFusedLawful, ExactDataHasOneResult) {
  if (const auto why = cuda_fused_backend().unavailable()) GTEST_SKIP() << *why;
  testing_cases::expect_exact_on_exact_data(cuda_fused_backend(), true);
}

TEST(CudaFusedLawful, SpecialValuesHaveOneOutcome) {
  if (const auto why = cuda_fused_backend().unavailable()) GTEST_SKIP() << *why;
  testing_cases::expect_special_outcomes(cuda_fused_backend());
}

INSTANTIATE_TEST_SUITE_P(All, CudaPatternContract, testing::ValuesIn(testing_cases::pattern_pointers()),
                         [](const auto& param_info) { return std::string(param_info.param->name); });

TEST(CudaNormContract, CoversLongRows) {
  if (const auto why = cuda_fused_backend().unavailable()) GTEST_SKIP() << *why;
  for (const std::string_view name : testing_cases::kNormPatterns) {
    SCOPED_TRACE(name);
    EXPECT_GT(testing_cases::expect_contract_kept(cuda_fused_backend(), *find_pattern(name),
                                                  testing_cases::kLongRows),
              0);
  }
}

}  // namespace
}  // namespace fusesmith::backends

// Every pattern keeps its word on cpu_fused.
#include "backends/cpu_fused/cpu_fused_backend.h"
#include "backends/rewrite/kept_contract_test.h"

namespace fusesmith {
namespace {

class PatternContract : public testing::TestWithParam<const Pattern*> {};

TEST_P(PatternContract, CoversItsExamples) {
  EXPECT_GT(testing_cases::expect_contract_kept(cpu_fused_backend(), *GetParam()), 0);
}

TEST(CpuFusedLawful, ExactDataHasOneResult) {
  testing_cases::expect_exact_on_exact_data(cpu_fused_backend(), true);
}

TEST(CpuFusedLawful, SpecialValuesHaveOneOutcome) {
  testing_cases::expect_special_outcomes(cpu_fused_backend());
}

INSTANTIATE_TEST_SUITE_P(All, PatternContract, testing::ValuesIn(testing_cases::pattern_pointers()),
                         [](const auto& param_info) { return std::string(param_info.param->name); });

}  // namespace
}  // namespace fusesmith

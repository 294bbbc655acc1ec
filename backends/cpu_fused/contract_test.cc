// Every pattern keeps its word on cpu_fused.
#include "backends/cpu_fused/cpu_fused_backend.h"
#include "backends/rewrite/kept_contract_test.h"

namespace fusesmith {
namespace {

class PatternContract : public testing::TestWithParam<const Pattern*> {};

TEST_P(PatternContract, CoversItsExamples) {
  EXPECT_GT(testing_cases::expect_contract_kept(cpu_fused_backend(), *GetParam()), 0);
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

}  // namespace
}  // namespace fusesmith

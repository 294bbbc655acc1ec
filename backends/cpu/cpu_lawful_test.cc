// The law of the baseline: whatever op, dtype and data, the judge finds every node of `cpu` within its bounds
// under the strict reading, with a contract that declares no deviation.
#include "backends/common/cpu_arithmetic.h"
#include "backends/common/lawful_test.h"
#include "backends/cpu/cpu_backend.h"

namespace fusesmith::backends {
namespace {

// Without library roundings there is nothing to declare, so nothing but reassociation passes above.
TEST(CpuLawful, DeclaresNothing) {
  Builder b;
  const ValueId x = b.input("x", {Dtype::f16, {4, 300}}, Normal{});
  b.output(b.node(Softmax{0}, {x}, "y"));
  const auto program = std::move(*cpu_backend().compile(*b.build(), {}));
  Contract expected;
  expected.arithmetic = cpu_arithmetic_of(Softmax{});
  EXPECT_EQ(program->plan().regions[0].contract, expected);
}

TEST(CpuLawful, OnOrdinaryData) { testing_cases::expect_lawful_on_ordinary_data(cpu_backend()); }
TEST(CpuLawful, OnSpecialData) { testing_cases::expect_lawful_on_special_data(cpu_backend()); }
TEST(CpuLawful, ExactDataHasOneResult) { testing_cases::expect_exact_on_exact_data(cpu_backend()); }
TEST(CpuLawful, SpecialValuesHaveOneOutcome) { testing_cases::expect_special_outcomes(cpu_backend()); }

}  // namespace
}  // namespace fusesmith::backends

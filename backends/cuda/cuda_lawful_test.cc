// As CpuLawful, for the GPU: every op, dtype and kind of data on `cuda`, repeated and with
// its memory checked.
#include "backends/common/lawful_test.h"
#include "backends/cuda/cuda_backend.h"

namespace fusesmith::backends {
namespace {

class CudaLawful : public testing::Test {
 protected:
  void SetUp() override {
    if (const auto why = cuda_backend().unavailable()) GTEST_SKIP() << *why;
  }
};

TEST_F(CudaLawful, OnOrdinaryData) { testing_cases::expect_lawful_on_ordinary_data(cuda_backend()); }
TEST_F(CudaLawful, OnSpecialData) { testing_cases::expect_lawful_on_special_data(cuda_backend()); }
TEST_F(CudaLawful, ExactDataHasOneResult) { testing_cases::expect_exact_on_exact_data(cuda_backend()); }
TEST_F(CudaLawful, SpecialValuesHaveOneOutcome) { testing_cases::expect_special_outcomes(cuda_backend()); }

// The ieee bound of a product is tighter than what tf32 inputs do, so tf32 is in use, and stays in its bound.
TEST_F(CudaLawful, Tf32IsUsedOnlyWhereAskedFor) {
  Builder b;
  const ValueId x = b.input("x", {Dtype::f32, {128, 256}}, Normal{});
  const ValueId w = b.input("w", {Dtype::f32, {256, 128}}, Normal{});
  b.output(b.node(Matmul{}, {x, w}, "y"));
  const Graph graph = *b.build();
  CompileOptions tf32;
  tf32.tf32 = true;
  const BackendVerdict ieee = testing_cases::judge_on(cuda_backend(), graph, 1);
  const BackendVerdict rounded = testing_cases::judge_on(cuda_backend(), graph, 1, tf32);
  EXPECT_EQ(ieee.verdict, VerdictClass::reassociation);
  EXPECT_EQ(rounded.verdict, VerdictClass::reassociation) << testing_cases::evidence(rounded.regions[0]);
  EXPECT_GT(rounded.regions[0].worst.bound, 10 * ieee.regions[0].worst.bound);
}

}  // namespace
}  // namespace fusesmith::backends

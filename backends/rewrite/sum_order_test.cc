#include "backends/rewrite/sum_order.h"

#include <gtest/gtest.h>

namespace fusesmith::backends {
namespace {

struct OnTest {};

SumOrder sum_order(const FusedGemm&, OnTest) { return {.products = 7}; }
SumOrder sum_order(const FusedAttention&, OnTest) { return {.rows = RowSums{4, 2}}; }
SumOrder sum_order(const MultiplyReduce&, OnTest) { return {.ieee = true}; }

Arithmetic stated(const FusedOp& fused) {
  Arithmetic arithmetic;
  arithmetic.tf32 = true;
  arithmetic.sum_height = 3;
  arithmetic.row_sums = {8, 3};
  state_order<OnTest>(fused, arithmetic);
  return arithmetic;
}

TEST(SumOrder, ChangesWhatTheKernelStatesAndNothingElse) {
  const Arithmetic of_backend = stated(Identity{});  // no overload
  EXPECT_EQ(of_backend.sum_height, 3);
  EXPECT_EQ(of_backend.row_sums, (RowSums{8, 3}));
  EXPECT_TRUE(of_backend.tf32);

  Arithmetic want = of_backend;
  want.sum_height = 7;
  EXPECT_EQ(stated(FusedGemm{}), want);
  want = of_backend;
  want.row_sums = {4, 2};
  EXPECT_EQ(stated(FusedAttention{}), want);
  want = of_backend;
  want.tf32 = false;
  EXPECT_EQ(stated(MultiplyReduce{}), want);
}

}  // namespace
}  // namespace fusesmith::backends

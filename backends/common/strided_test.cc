#include "backends/common/strided.h"

#include <gtest/gtest.h>

#include <numeric>

namespace fusesmith::backends {
namespace {

TEST(Strided, MergesWhatEveryOperandReadsAsOneAxis) {
  Shape sizes = {2, 1, 3, 4};
  Shape strides[] = {{12, 12, 4, 1}, {24, 7, 8, 2}};
  merge_axes(sizes, strides);
  EXPECT_EQ(sizes, (Shape{24}));
  EXPECT_EQ(strides[0], (Shape{1}));
  EXPECT_EQ(strides[1], (Shape{2}));
}

TEST(Strided, KeepsAxesThatOneOperandReadsApart) {
  Shape sizes = {2, 3, 4};
  Shape strides[] = {{12, 4, 1}, {0, 4, 1}};
  merge_axes(sizes, strides);
  EXPECT_EQ(sizes, (Shape{2, 12}));
  EXPECT_EQ(strides[1], (Shape{0, 1}));
}

TEST(Strided, MergesBroadcastAxes) {
  Shape sizes = {2, 3, 4};
  Shape strides[] = {{0, 0, 1}};
  merge_axes(sizes, strides);
  EXPECT_EQ(sizes, (Shape{6, 4}));
}

TEST(Strided, WalksInRowMajorOrder) {
  const Strided<2> space{{3, 1, 2, 5}, {Shape{100, 3, 10, 1}, Shape{1, 9, 0, 7}}};
  std::vector<int64_t> first, second, want_first, want_second;
  for_each_row(space,
               [&](const std::array<int64_t, 2>& at, int64_t count, const std::array<int64_t, 2>& step) {
                 for (int64_t i = 0; i < count; ++i) {
                   first.push_back(at[0] + i * step[0]);
                   second.push_back(at[1] + i * step[1]);
                 }
               });
  for (int64_t i = 0; i < 3; ++i) {
    for (int64_t j = 0; j < 2; ++j) {
      for (int64_t k = 0; k < 5; ++k) {
        want_first.push_back(100 * i + 10 * j + k);
        want_second.push_back(i + 7 * k);
      }
    }
  }
  EXPECT_EQ(first, want_first);
  EXPECT_EQ(second, want_second);
}

TEST(Strided, AScalarIsOneElement) {
  int rows = 0;
  for_each_row(Strided<1>{{}, {Shape{}}}, [&](const auto& at, int64_t count, const auto&) {
    EXPECT_EQ(at[0], 0);
    EXPECT_EQ(count, 1);
    ++rows;
  });
  EXPECT_EQ(rows, 1);
}

TEST(Strided, CopiesATransposedView) {
  std::vector<int32_t> from(12), to(12);
  std::iota(from.begin(), from.end(), 0);
  copy_strided(from.data(), {4, 3}, {1, 4}, to.data());
  EXPECT_EQ(to, (std::vector<int32_t>{0, 4, 8, 1, 5, 9, 2, 6, 10, 3, 7, 11}));
}

}  // namespace
}  // namespace fusesmith::backends

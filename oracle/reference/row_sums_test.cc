// Rows added up in known lanes: every such sum stays within its tighter bound, and what a bound in any order
// hides is out of bounds.
#include <gtest/gtest.h>

#include "oracle/test_support.h"

namespace fusesmith::oracle {
namespace {

using namespace testing_support;
using RowSumsVariance = Arithmetic::Variance;

constexpr size_t kRowSumsSizes[] = {1, 2, 9, 33, 128, 1000, 4096, 9001};
constexpr size_t kLaneCounts[] = {4, 8, 32};

struct RowSumsRow {
  std::string name;
  std::vector<float> x;
};

std::vector<RowSumsRow> summed_rows(size_t n) {
  Rng rng(n + 7);
  const auto row = [&](auto f) {
    std::vector<float> x(n);
    for (size_t i = 0; i < n; ++i) x[i] = static_cast<float>(f(i));
    return x;
  };
  return {{"centred", row([&](size_t) { return rng.normal(); })},
          {"positive", row([&](size_t) { return rng.uniform(1, 2); })},
          {"shifted", row([&](size_t) { return 300 + rng.normal(); })},
          {"outlier", row([&](size_t i) { return i == n / 3 ? 1e4 : rng.normal(); })},
          {"drift", row([&](size_t i) { return static_cast<double>(i) / static_cast<double>(n); })},
          {"stagnating", row([&](size_t i) { return i == 0 ? 1 : 0x1.8p-24; })}};
}

Arithmetic in_lanes(size_t lanes, RowSumsVariance variance = RowSumsVariance::two_pass) {
  Arithmetic arithmetic;
  arithmetic.variance = variance;
  arithmetic.row_sums = {static_cast<double>(lanes), std::log2(static_cast<double>(lanes))};
  return arithmetic;
}

Arithmetic any_order(RowSumsVariance variance) {
  Arithmetic arithmetic;
  arithmetic.variance = variance;
  return arithmetic;
}

template <class Term>
float sum_in_lanes(size_t n, size_t lanes, Term term) {
  std::vector<float> parts(lanes, 0.0f);
  for (size_t i = 0; i < n; ++i) parts[i % lanes] += term(i);
  for (size_t width = lanes / 2; width > 0; width /= 2) {
    for (size_t l = 0; l < width; ++l) parts[l] += parts[l + width];
  }
  return parts[0];
}

struct RowSumsMoments {
  float count = 0, mean = 0, squares = 0;
};

RowSumsMoments two_pass_row_sums(const std::vector<float>& x, size_t lanes) {
  const auto n = static_cast<float>(x.size());
  const float mean = sum_in_lanes(x.size(), lanes, [&](size_t i) { return x[i]; }) / n;
  return {n, mean, sum_in_lanes(x.size(), lanes, [&](size_t i) { return (x[i] - mean) * (x[i] - mean); })};
}

// Welford's update in each lane, then Chan's merge.
RowSumsMoments running(const std::vector<float>& x, size_t lanes) {
  std::vector<RowSumsMoments> parts(lanes);
  for (size_t i = 0; i < x.size(); ++i) {
    RowSumsMoments& m = parts[i % lanes];
    const float before = x[i] - m.mean;
    m.mean += before / ++m.count;
    m.squares += before * (x[i] - m.mean);
  }
  for (size_t width = lanes / 2; width > 0; width /= 2) {
    for (size_t l = 0; l < width; ++l) {
      RowSumsMoments &a = parts[l], &b = parts[l + width];
      if (b.count == 0) continue;
      const float total = a.count + b.count, distance = b.mean - a.mean;
      a.mean += distance * (b.count / total);
      a.squares += b.squares + distance * distance * (a.count * b.count / total);
      a.count = total;
    }
  }
  return parts[0];
}

constexpr float kRowSumsEps = 1e-5f;

int count_outside_row_sums(const Bounded& y, const std::vector<float>& x, const RowSumsMoments& m,
                           float divisor) {
  const float r = 1 / std::sqrt(m.squares / divisor + kRowSumsEps);
  int outside = 0;
  for (size_t j = 0; j < x.size(); ++j)
    outside += !lawful(Dtype::f32, y.v[j], y.error(j), static_cast<double>((x[j] - m.mean) * r));
  return outside;
}

Bounded row_of(const std::vector<float>& x) {
  return Bounded(from_f32(x, {Dtype::f32, {static_cast<int64_t>(x.size())}}));
}

TEST(RowSums, HeightCountsALanesTermsAndItsMerges) {
  EXPECT_EQ(RowSums{}.height(1), 0);
  EXPECT_EQ(RowSums{}.height(100), 99);
  EXPECT_EQ((RowSums{8, 3}.height(100)), 13 + 3);
  EXPECT_EQ((RowSums{8, 3}.height(2)), 1);  // two terms meet once, however they are laid out
  EXPECT_EQ((RowSums{32, 5, 1024, 512}.height(1024)), 32 + 5);
  EXPECT_EQ((RowSums{32, 5, 1024, 512}.height(1025)), 3 + 1 + 5);
}

TEST(RowSums, SumsInLanes) {
  for (size_t n : kRowSumsSizes) {
    for (const RowSumsRow& row : summed_rows(n)) {
      const Bounded x = row_of(row.x);
      for (size_t lanes : kLaneCounts) {
        const float sum = sum_in_lanes(n, lanes, [&](size_t i) { return row.x[i]; });
        const Bounded y = evaluate_op(ReduceSum{{0}}, {x}, in_lanes(lanes));
        EXPECT_TRUE(lawful(Dtype::f32, y.v[0], y.error(0), static_cast<double>(sum))) << row.name << n;
        const Bounded mean = evaluate_op(ReduceMean{{0}}, {x}, in_lanes(lanes));
        const auto got = static_cast<double>(sum / static_cast<float>(n));
        EXPECT_TRUE(lawful(Dtype::f32, mean.v[0], mean.error(0), got)) << row.name << n;
      }
    }
  }
}

TEST(RowSums, StatisticsInLanes) {
  for (RowSumsVariance variance : {RowSumsVariance::two_pass, RowSumsVariance::welford}) {
    for (size_t n : kRowSumsSizes) {
      for (const RowSumsRow& row : summed_rows(n)) {
        const Bounded x = row_of(row.x), wide = evaluate_op(LayerNorm{kRowSumsEps}, {x}, any_order(variance));
        for (size_t lanes : kLaneCounts) {
          const Bounded y = evaluate_op(LayerNorm{kRowSumsEps}, {x}, in_lanes(lanes, variance));
          const RowSumsMoments m =
              variance == RowSumsVariance::two_pass ? two_pass_row_sums(row.x, lanes) : running(row.x, lanes);
          EXPECT_EQ(count_outside_row_sums(y, row.x, m, m.count), 0)
              << row.name << " n=" << n << " lanes " << lanes;
          for (size_t j = 0; j < n; ++j) EXPECT_LE(y.error(j), wide.error(j));
          if (n >= 4096 && lanes == 32) {
            EXPECT_LT(y.error(0), 0.3 * wide.error(0)) << row.name;
          }
        }
      }
    }
  }
}

// In any order, n - 1 for n is within the bound of rows of 4096: (n + 5) u is 1 / n there.
TEST(RowSums, AnUnbiasedVarianceIsOutOfBounds) {
  for (RowSumsVariance variance : {RowSumsVariance::two_pass, RowSumsVariance::welford}) {
    for (size_t n : {2048, 4096, 9001}) {
      const std::vector<float> x = summed_rows(n)[0].x;
      const Bounded row = row_of(x), wide = evaluate_op(LayerNorm{kRowSumsEps}, {row}, any_order(variance)),
                    known = evaluate_op(LayerNorm{kRowSumsEps}, {row}, in_lanes(32, variance));
      const RowSumsMoments m = two_pass_row_sums(x, 32);
      if (n >= 4096) {
        EXPECT_EQ(count_outside_row_sums(wide, x, m, m.count - 1), 0);
      }
      EXPECT_GT(count_outside_row_sums(known, x, m, m.count - 1), static_cast<int>(n) / 2) << n;
    }
  }
}

TEST(RowSums, SoftmaxInLanes) {
  for (size_t n : kRowSumsSizes) {
    for (const RowSumsRow& row : summed_rows(n)) {
      const Bounded x = row_of(row.x);
      const float max = *std::max_element(row.x.begin(), row.x.end());
      const auto term = [&](size_t i) { return std::exp(row.x[i] - max); };
      for (size_t lanes : kLaneCounts) {
        const Bounded p = evaluate_op(Softmax{}, {x}, in_lanes(lanes));
        const float sum = sum_in_lanes(n, lanes, term);
        for (size_t i = 0; i < n; ++i) {
          EXPECT_TRUE(lawful(Dtype::f32, p.v[i], p.error(i), static_cast<double>(term(i) / sum)))
              << row.name << " n=" << n << " lanes " << lanes;
        }
      }
    }
  }
}

TEST(RowSums, AnExtraZeroLogitIsOutOfBounds) {
  constexpr size_t kKeys = 5000;
  const std::vector<float> x = summed_rows(kKeys)[0].x;
  const float max = *std::max_element(x.begin(), x.end());
  const auto term = [&](size_t i) { return std::exp(x[i] - max); };
  const float sum = sum_in_lanes(kKeys, 8, term) + std::exp(-max);
  const auto outside = [&](const Arithmetic& arithmetic) {
    const Bounded p = evaluate_op(Softmax{}, {row_of(x)}, arithmetic);
    size_t count = 0;
    for (size_t i = 0; i < kKeys; ++i)
      count += !lawful(Dtype::f32, p.v[i], p.error(i), static_cast<double>(term(i) / sum));
    return count;
  };
  EXPECT_EQ(outside({}), 0);
  EXPECT_GT(outside(in_lanes(8)), kKeys / 2);
}

}  // namespace
}  // namespace fusesmith::oracle

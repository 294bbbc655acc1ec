// reduce_sum, reduce_mean and var_mean in every order stay in their bounds, and a lost term does not;
// lattices are exact; rms_norm and group_norm by the usual formulas; special values as the ops' docs define
// them.
#include <gtest/gtest.h>

#include "oracle/test_support.h"

namespace fusesmith::oracle {
namespace {

using namespace testing_support;

std::vector<float> random_row_reductions(size_t n, double mean, Rng& rng) {
  std::vector<float> x(n);
  for (float& v : x) v = static_cast<float>(mean + rng.normal());
  return x;
}

Bounded row_tensor_reductions(const std::vector<float>& x) {
  return Bounded(from_f32(x, {Dtype::f32, {static_cast<int64_t>(x.size())}}));
}

bool lawful_everywhere(const Bounded& y, size_t i, float got) {
  bool all = true;
  for (Dtype dtype : kFloatDtypes) all = all && lawful(dtype, y.v[i], y.error(i), store(dtype, got));
  return all;
}

constexpr size_t kReductionsSizes[] = {1, 2, 3, 16, 17, 128, 1000, 4096};

TEST(Reductions, EveryOrderStaysInBounds) {
  Rng rng(1);
  for (size_t n : kReductionsSizes) {
    for (double mean : {0.0, 1.0, 1e4}) {
      const std::vector<float> x = random_row_reductions(n, mean, rng);
      const Bounded sum = evaluate_op(ReduceSum{{0}}, {row_tensor_reductions(x)});
      const Bounded average = evaluate_op(ReduceMean{{0}}, {row_tensor_reductions(x)});
      const auto variance = evaluate_outputs(VarMean{{0}, 0}, {row_tensor_reductions(x)});
      const auto count = static_cast<float>(n);
      Shares shares;
      for (Visit visit : kVisits) {
        for (Join join : kJoins) {
          const float s = sum_in_order(n, visit, join, [&](size_t i) { return x[i]; }), m = s / count;
          const auto square = [&](size_t i) { return (x[i] - m) * (x[i] - m); };
          const float squares = sum_in_order(n, visit, join, square);
          EXPECT_TRUE(lawful_everywhere(sum, 0, s)) << n << " " << mean;
          EXPECT_TRUE(lawful_everywhere(average, 0, m)) << n << " " << mean;
          EXPECT_TRUE(lawful_everywhere(average, 0, s * (1 / count))) << n << " " << mean;
          EXPECT_TRUE(lawful_everywhere(variance[0], 0, squares / count)) << n << " " << mean;
          EXPECT_TRUE(lawful_everywhere(variance[1], 0, m)) << n << " " << mean;
          shares.add(share(Dtype::f32, sum.v[0], sum.error(0), static_cast<double>(s)));
        }
      }
      RecordProperty("sum_n" + std::to_string(n), shares.text());
      if (n >= 3 && n <= 17 && mean == 1) {
        EXPECT_GT(shares.worst(), 0.02) << n;
      }
    }
  }
}

TEST(Reductions, ALostOrDoubledTermIsOutOfBounds) {
  Rng rng(2);
  for (size_t n : {size_t{3}, size_t{17}, size_t{1000}}) {
    const std::vector<float> x = random_row_reductions(n, 1, rng);
    const Bounded sum = evaluate_op(ReduceSum{{0}}, {row_tensor_reductions(x)});
    const float s = sum_in_order(n, Visit::forward, Join::chain, [&](size_t i) { return x[i]; });
    EXPECT_FALSE(lawful(Dtype::f32, sum.v[0], sum.error(0), static_cast<double>(s - x[n / 2])));
    EXPECT_FALSE(lawful(Dtype::f32, sum.v[0], sum.error(0), static_cast<double>(s + x[0])));
    const auto variance = evaluate_outputs(VarMean{{0}, 1}, {row_tensor_reductions(x)});
    const double biased = variance[0].v[0] * static_cast<double>(n - 1) / static_cast<double>(n);
    EXPECT_FALSE(lawful(Dtype::f32, variance[0].v[0], variance[0].error(0), biased)) << "correction 0 for 1";
  }
}

TEST(Reductions, TwoTermsAreOneRounding) {
  const Bounded y = evaluate_op(ReduceSum{{0}}, {row_tensor_reductions({1, 1e-9f})});
  EXPECT_TRUE(lawful(Dtype::f32, y.v[0], y.error(0), 1));
  EXPECT_FALSE(lawful(Dtype::f32, y.v[0], y.error(0), static_cast<double>(std::nextafter(1.0f, 2.0f))));
}

TEST(Reductions, LatticesAndMaximaAreExact) {
  Rng rng(3);
  for (size_t n : {size_t{1}, size_t{64}, size_t{1000}}) {
    std::vector<float> x(n);
    for (float& v : x) v = static_cast<float>(rng.below(17) - 8) / 4;
    EXPECT_TRUE(evaluate_op(ReduceSum{{0}}, {row_tensor_reductions(x)}).exact()) << n;
    EXPECT_EQ(evaluate_op(ReduceMean{{0}}, {row_tensor_reductions(x)}).exact(), n != 1000) << n;
    EXPECT_TRUE(
        evaluate_op(ReduceMax{{0}}, {row_tensor_reductions(random_row_reductions(n, 0, rng))}).exact());
    const auto constant =
        evaluate_outputs(VarMean{{0}, 0}, {row_tensor_reductions(std::vector<float>(n, 2.5f))});
    EXPECT_TRUE(constant[0].v[0] == 0 && constant[0].error(0) == 0);
    EXPECT_TRUE(constant[1].v[0] == 2.5 && constant[1].error(0) == 0);
  }
}

TEST(Reductions, SpecialValues) {
  const auto inf = std::numeric_limits<float>::infinity(), nan = std::numeric_limits<float>::quiet_NaN();
  const auto outcome = [](const Op& op, const std::vector<float>& x, size_t output = 0) {
    const Bounded y = evaluate_outputs(op, {row_tensor_reductions(x)})[output];
    EXPECT_EQ(y.error(0), 0) << to_string(op);
    return y.v[0];
  };
  for (const Op& op : {Op(ReduceSum{{0}}), Op(ReduceMean{{0}}), Op(ReduceMax{{0}})}) {
    EXPECT_TRUE(std::isnan(outcome(op, {1, nan, -inf})));
    EXPECT_EQ(outcome(op, {1, inf, 2}), kInf);
  }
  EXPECT_TRUE(std::isnan(outcome(ReduceSum{{0}}, {inf, -inf})));
  EXPECT_TRUE(std::isnan(outcome(ReduceMean{{0}}, {inf, -inf})));
  EXPECT_EQ(outcome(ReduceMax{{0}}, {inf, -inf}), kInf);
  EXPECT_EQ(outcome(ReduceMax{{0}}, {-inf, -inf}), -kInf);
  EXPECT_FALSE(std::signbit(outcome(ReduceMax{{0}}, {-0.0f, 0.0f, -0.0f})));
  EXPECT_TRUE(std::isnan(outcome(VarMean{{0}, 1}, {3})));
  EXPECT_EQ(outcome(VarMean{{0}, 1}, {3}, 1), 3);
  EXPECT_TRUE(std::isnan(outcome(VarMean{{0}, 0}, {1, inf})));
  EXPECT_EQ(outcome(VarMean{{0}, 0}, {1, inf}, 1), kInf);
  EXPECT_EQ(outcome(ReduceSum{{0}}, {3e38f, 3e38f}), 2 * static_cast<double>(3e38f));  // stored as inf
}

TEST(Reductions, SumsThatMayOverflowAreUnknown) {
  const std::vector<float> x{3e38f, 3e38f, -3e38f};
  EXPECT_EQ(evaluate_op(ReduceSum{{0}}, {row_tensor_reductions(x)}).error(0), kInf);
  EXPECT_EQ(evaluate_op(ReduceMean{{0}}, {row_tensor_reductions({3e38f, 3e38f})}).error(0), kInf);
  EXPECT_EQ(evaluate_outputs(VarMean{{0}, 0}, {row_tensor_reductions({1e25f, -1e25f})})[0].error(0), kInf);
}

TEST(RmsNorm, UsualFormulasStayInBounds) {
  Rng rng(4);
  for (size_t n : kReductionsSizes) {
    for (double mean : {0.0, 1e-4, 100.0}) {
      const std::vector<float> x = random_row_reductions(n, mean, rng), w = random_row_reductions(n, 1, rng);
      const Bounded y = evaluate_op(RmsNorm{1e-6}, {row_tensor_reductions(x), row_tensor_reductions(w)});
      for (Visit visit : kVisits) {
        const float squares = sum_in_order(n, visit, Join::lanes, [&](size_t i) { return x[i] * x[i]; });
        const float total = squares / static_cast<float>(n) + 1e-6f, r = 1 / std::sqrt(total);
        for (size_t i = 0; i < n; ++i) {
          EXPECT_TRUE(lawful_everywhere(y, i, x[i] * r * w[i])) << n;
          EXPECT_TRUE(lawful_everywhere(y, i, x[i] / std::sqrt(total) * w[i])) << n;
          EXPECT_TRUE(lawful_everywhere(y, i, x[i] * (r * w[i]))) << n;
          if (n == 17 && std::fabs(y.v[i]) > 0.1) {
            EXPECT_FALSE(lawful_everywhere(y, i, x[i] * r * w[i] * (1 + 0x1p-17f)));
          }
        }
      }
    }
  }
}

TEST(RmsNorm, BesideAnInfinityIsZero) {
  const Bounded y =
      evaluate_op(RmsNorm{}, {row_tensor_reductions({1, std::numeric_limits<float>::infinity(), -2})});
  EXPECT_TRUE(y.v[0] == 0 && y.error(0) == 0);
  EXPECT_TRUE(std::isnan(y.v[1]) && y.error(1) == 0);
  EXPECT_EQ(evaluate_op(RmsNorm{}, {row_tensor_reductions({1e25f, 1})}).error(0), kInf);
}

// A group is a row of layer_norm; weights belong to channels.
TEST(GroupNorm, IsLayerNormOfEachGroup) {
  Rng rng(5);
  const TensorType type{Dtype::f32, {2, 6, 5}};
  const Tensor x = make_tensor(type, [&](int64_t) { return 3 + rng.normal(); });
  const Tensor w = make_tensor({Dtype::f32, {6}}, [&](int64_t) { return rng.normal(); });
  const Tensor b = make_tensor({Dtype::f32, {6}}, [&](int64_t) { return rng.normal(); });
  const Bounded y = evaluate_op(GroupNorm{3, 1e-5}, {Bounded(x), Bounded(w), Bounded(b)});
  for (int64_t group = 0; group < 6; ++group) {
    const auto part = [&](const Tensor& from, auto index) {
      return Bounded(make_tensor({Dtype::f32, {10}}, [&](int64_t j) { return from.value(index(j)); }));
    };
    const auto channel = [&](int64_t j) { return (group % 3) * 2 + j / 5; };
    const Bounded rows = evaluate_op(LayerNorm{1e-5}, {part(x, [&](int64_t j) { return group * 10 + j; }),
                                                       part(w, channel), part(b, channel)});
    for (size_t j = 0; j < 10; ++j) {
      EXPECT_EQ(y.v[static_cast<size_t>(group) * 10 + j], rows.v[j]);
      EXPECT_EQ(y.error(static_cast<size_t>(group) * 10 + j), rows.error(j));
    }
  }
}

}  // namespace
}  // namespace fusesmith::oracle

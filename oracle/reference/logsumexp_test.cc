// logsumexp: every order and the worst exponentials and logarithms stay in bounds, and come near them; a lost
// term does not; one term alone is exact; inexact inputs move the result as far as the bound says.
#include <gtest/gtest.h>

#include "oracle/test_support.h"

namespace fusesmith::oracle {
namespace {

using namespace testing_support;

Bounded row_tensor(const std::vector<double>& x) {
  return Bounded(make_tensor({Dtype::f32, {static_cast<int64_t>(x.size())}}, x));
}

Bounded evaluate_row(const std::vector<double>& x) { return evaluate_op(LogSumExp{{0}}, {row_tensor(x)}); }

std::vector<double> random_row(size_t n, double mean, Rng& rng) {
  std::vector<double> x(n);
  for (double& v : x) v = static_cast<double>(static_cast<float>(mean + 3 * rng.normal()));
  return x;
}

// As an executor computes it; every exponential is off by `exp_off` u, the logarithm by `log_off` u.
float execute_logsumexp(const std::vector<double>& x, Visit visit, Join join, double exp_off,
                        double log_off) {
  const auto m = static_cast<float>(*std::max_element(x.begin(), x.end()));
  const auto term = [&](size_t i) {
    const float t = static_cast<float>(x[i]) - m;
    return t == 0 ? 1 : static_cast<float>(std::exp(static_cast<double>(t)) * (1 + exp_off * kU));
  };
  const double sum = static_cast<double>(sum_in_order(x.size(), visit, join, term));
  return static_cast<float>(std::log(sum) * (1 + log_off * kU)) + m;
}

TEST(LogSumExp, EveryOrderAndWorstFunctionsStayInBounds) {
  Rng rng(1);
  const Arithmetic arithmetic;
  for (size_t n : {1, 2, 3, 16, 17, 128, 1000, 4096}) {
    for (double mean : {0.0, -50.0, 1e4}) {
      const std::vector<double> x = random_row(n, mean, rng);
      const Bounded y = evaluate_row(x);
      for (Visit visit : kVisits) {
        for (Join join : kJoins) {
          for (double side : {-1.0, 0.0, 1.0}) {  // what rounds to f32 afterwards is off by half an ulp more
            const float got =
                execute_logsumexp(x, visit, join, side * (arithmetic.exp - 1), side * (arithmetic.log - 1));
            for (Dtype dtype : kFloatDtypes)
              EXPECT_TRUE(lawful(dtype, y.v[0], y.error(0), store(dtype, got))) << n << " " << mean;
          }
        }
      }
    }
  }
}

TEST(LogSumExp, BoundsAreNearTheWorst) {
  const Arithmetic arithmetic;
  const std::vector<double> x = {0, -0.5, -0.25};
  const Bounded y = evaluate_row(x);
  double sum = 1;
  for (size_t i = 1; i < x.size(); ++i) sum += std::exp(x[i]) * (1 + arithmetic.exp * kU);
  const double worst = std::log(sum * (1 + 2 * kU)) * (1 + arithmetic.log * kU);
  EXPECT_LE(worst - y.v[0], y.error(0));
  EXPECT_GE(worst - y.v[0], 0.5 * y.error(0));
}

TEST(LogSumExp, ALostTermOrAWrongMaximumIsOutOfBounds) {
  Rng rng(2);
  for (size_t n : {3, 17, 1000}) {
    // Around -3: beside a thousand terms around 1, one of exp(0) is less than their sum may be off by.
    const std::vector<double> x = random_row(n, -3, rng);
    const Bounded y = evaluate_row(x);
    std::vector<double> fewer = x;
    fewer.erase(std::max_element(fewer.begin(), fewer.end()));
    EXPECT_FALSE(lawful(Dtype::f32, y.v[0], y.error(0), evaluate_row(fewer).v[0])) << n;
    fewer = x;
    fewer.push_back(0);
    EXPECT_FALSE(lawful(Dtype::f32, y.v[0], y.error(0), evaluate_row(fewer).v[0]))
        << n << " and an extra term of 0";
  }
}

TEST(LogSumExp, OneTermIsExact) {
  EXPECT_EQ(evaluate_row({0.3f}).error(0), 0);
  EXPECT_EQ(evaluate_row({7, -97, -1e30}).error(0), 0);
  EXPECT_EQ(evaluate_row({7, -97, -1e30}).v[0], 7);
  EXPECT_GT(evaluate_row({7, -96}).error(0), 0) << "the exponential may be stored";
  EXPECT_GT(evaluate_row({7, 7}).error(0), 0) << "log 2 rounds";
}

TEST(LogSumExp, InexactInputsMoveItAsFarAsTheBoundSays) {
  for (double width : {1e-4, 0.1, 3.0, 400.0}) {
    const std::vector<double> x = {1, 0.5, -2, 0};
    const Bounded y = evaluate_op(LogSumExp{{0}}, {with_error(row_tensor(x), [&](size_t) { return width; })});
    EXPECT_GE(y.error(0), width) << "all inputs move together";
    EXPECT_LE(y.error(0), width * (1 + 8 * kU) + 30 * kU);
  }
  const Bounded one = with_error(row_tensor({0, 0}), [](size_t i) { return i == 0 ? 0.5 : 0.0; });
  const Bounded y = evaluate_op(LogSumExp{{0}}, {one});
  EXPECT_NEAR(y.error(0), std::log(1 + std::exp(0.5)) - std::log(2.0), 1e-5);
}

}  // namespace
}  // namespace fusesmith::oracle

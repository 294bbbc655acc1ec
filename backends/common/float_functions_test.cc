// Worst errors of the scalar functions over every 997th f32, in units of u = 2^-24 relative to the result,
// held to what contracts claim for a CPU (oracle/contract.h). Results below 2^-126 are left out: they may
// underflow.
#include "backends/common/float_functions.h"

#include <gtest/gtest.h>

#include <bit>
#include <cstdint>
#include <functional>

#include "oracle/contract.h"

namespace fusesmith::backends {
namespace {

struct Worst {
  double error = 0;  // in u
  float x = 0;
};

// `shown` is set as a test property, so that reports carry the figures.
template <class F, class G>
Worst worst_error(const char* shown, F approximate, G exact, float from = -3.4e38f, float to = 3.4e38f) {
  Worst worst;
  for (uint64_t bits = 0; bits <= 0xffffffffu; bits += 997) {
    const float x = std::bit_cast<float>(static_cast<uint32_t>(bits));
    if (!(x >= from && x <= to)) continue;
    const double want = exact(static_cast<double>(x));
    if (!(std::fabs(want) >= 0x1p-126 && std::fabs(want) <= 0x1p127)) continue;
    const double error = std::fabs(static_cast<double>(approximate(x)) - want) / std::fabs(want) / kU;
    if (!(error <= worst.error)) worst = {error, x};
  }
  testing::Test::RecordProperty(shown, std::to_string(worst.error) + " u at " + std::to_string(worst.x));
  return worst;
}

const Arithmetic kClaimed;

TEST(FloatFunctions, Exp) {
  const Worst worst = worst_error(
      "exp", [](float x) { return std::exp(x); }, [](double x) { return std::exp(x); });
  EXPECT_LE(worst.error, kClaimed.exp) << "at " << worst.x;
  EXPECT_GT(worst.error, 0.5);  // no f32 function is this good: else nothing was measured
}

TEST(FloatFunctions, Erf) {
  const Worst worst = worst_error(
      "erf", [](float x) { return std::erf(x); }, [](double x) { return std::erf(x); });
  EXPECT_LE(worst.error, kClaimed.erf) << "at " << worst.x;
  EXPECT_GT(worst.error, 0.5);
}

TEST(FloatFunctions, Tanh) {
  const Worst worst = worst_error(
      "tanh", [](float x) { return std::tanh(x); }, [](double x) { return std::tanh(x); });
  EXPECT_LE(worst.error, kClaimed.tanh) << "at " << worst.x;
  EXPECT_GT(worst.error, 0.5);
}

TEST(FloatFunctions, Log) {
  const Worst worst = worst_error(
      "log", [](float x) { return std::log(x); }, [](double x) { return std::log(x); }, 0x1p-149f);
  EXPECT_LE(worst.error, kClaimed.log) << "at " << worst.x;
  EXPECT_GT(worst.error, 0.5);
  EXPECT_EQ(std::log(1.0f), 0);
}

TEST(FloatFunctions, ReciprocalSqrt) {
  const Worst worst = worst_error(
      "rsqrt", reciprocal_sqrt, [](double x) { return 1 / std::sqrt(x); }, 0x1p-149f);
  EXPECT_LE(worst.error, kClaimed.rsqrt) << "at " << worst.x;
  EXPECT_GT(worst.error, 0.5);
}

// The exponential's error, a sum and a quotient; where exp(-x) overflows, below -88.7, the result is 0.
TEST(FloatFunctions, SigmoidAndSilu) {
  const auto exact = [](double x) { return 1 / (1 + std::exp(-x)); };
  const Worst gate = worst_error("sigmoid", sigmoid, exact, -87);
  EXPECT_LE(gate.error, kClaimed.exp + 2 + kClaimed.div) << "at " << gate.x;
  EXPECT_GT(gate.error, 0.5);
  const Worst value = worst_error(
      "silu", silu, [&](double x) { return x * exact(x); }, -87);
  EXPECT_LE(value.error, kClaimed.exp + 2 + kClaimed.div) << "at " << value.x;
  EXPECT_GT(value.error, 0.5);
}

// The quotient's error, damped by tanh's slope, and tanh's own, then one product.
TEST(FloatFunctions, Softcap) {
  const Worst worst = worst_error(
      "softcap", [](float x) { return softcap(x, 30); }, [](double x) { return 30 * std::tanh(x / 30); },
      0x1p-120f);  // below, x / 30 underflows
  EXPECT_LE(worst.error, kClaimed.tanh + 2) << "at " << worst.x;
  EXPECT_GT(worst.error, 0.5);
}

TEST(FloatFunctions, MaximumKeepsNanAndPrefersPositiveZero) {
  const float nan = std::numeric_limits<float>::quiet_NaN();
  EXPECT_TRUE(std::isnan(maximum(nan, 1)) && std::isnan(maximum(1, nan)));
  EXPECT_FALSE(std::signbit(maximum(-0.0f, 0.0f)) || std::signbit(maximum(0.0f, -0.0f)));
  EXPECT_TRUE(std::signbit(maximum(-0.0f, -0.0f)));
  EXPECT_EQ(maximum(-2, 3), 3);
  EXPECT_EQ(maximum(3, -2), 3);
}

// No relative bound for x << 0, where 1 + erf cancels: absolute, in units of u |x|.
TEST(FloatFunctions, Gelu) {
  const auto check_form = [](auto approximate, auto exact, double inner) {
    double worst = 0;
    for (float x = -12; x <= 12; x += 0x1.3p-11f) {
      const double want = exact(static_cast<double>(x)), size = std::fabs(static_cast<double>(x));
      const double bound = kU * (0.5 * size * (inner + 6) + 3 * std::fabs(want)) + size * 0x1p-126;
      worst = std::max(worst, std::fabs(static_cast<double>(approximate(x)) - want) / bound);
    }
    EXPECT_LE(worst, 1);
    EXPECT_GT(worst, 0.05);
  };
  check_form(
      gelu_erf, [](double x) { return 0.5 * x * std::erfc(-x * std::sqrt(0.5)); }, kClaimed.erf);
  const auto inner = [](double x) { return std::sqrt(2 / std::acos(-1.0)) * (x + 0.044715 * x * x * x); };
  check_form(
      gelu_tanh, [&](double x) { return x / (1 + std::exp(-2 * inner(x))); }, kClaimed.tanh);
}

TEST(FloatFunctions, SaturateAndKeepNan) {
  const float inf = std::numeric_limits<float>::infinity(), nan = std::numeric_limits<float>::quiet_NaN();
  EXPECT_EQ(sigmoid(inf), 1);
  EXPECT_EQ(sigmoid(-inf), 0);
  EXPECT_EQ(silu(inf), inf);
  EXPECT_EQ(silu(-200), 0);
  for (auto gelu : {gelu_erf, gelu_tanh}) {
    EXPECT_EQ(gelu(inf), inf);
    EXPECT_EQ(gelu(1e30f), 1e30f);
    EXPECT_EQ(gelu(-1e30f), 0);
    EXPECT_EQ(gelu(0), 0);
  }
  for (auto f : {relu, sigmoid, silu, gelu_erf, gelu_tanh, reciprocal_sqrt}) EXPECT_TRUE(std::isnan(f(nan)));
}

}  // namespace
}  // namespace fusesmith::backends

// layer_norm: two-pass and Welford in every order stay in their bounds, E[x^2] - E[x]^2 leaves them where it
// cancels and allowed where it is declared.
#include <gtest/gtest.h>

#include "oracle/test_support.h"

namespace fusesmith::oracle {
namespace {

using namespace testing_support;
using Variance = Arithmetic::Variance;

struct Moments {
  float mean, variance;
};

// A part's statistics, as Welford updates and Chan merges them.
struct Part {
  float count = 0, mean = 0, squares = 0;

  void add(float x) {
    count += 1;
    const float delta = x - mean;
    mean += delta / count;
    squares += delta * (x - mean);
  }
  void merge(const Part& other) {
    if (other.count == 0) return;
    const float total = count + other.count, delta = other.mean - mean;
    mean += delta * (other.count / total);
    squares += other.squares + delta * delta * (count * other.count / total);
    count = total;
  }
  Moments moments() const { return {mean, squares / count}; }
};

Moments two_pass(const std::vector<float>& x, Visit visit, Join join) {
  const auto n = static_cast<float>(x.size());
  const float mean = sum_in_order(x.size(), visit, join, [&](size_t i) { return x[i]; }) / n;
  const float squares =
      sum_in_order(x.size(), visit, join, [&](size_t i) { return (x[i] - mean) * (x[i] - mean); });
  return {mean, squares / n};
}

Moments by_moments(const std::vector<float>& x, Visit visit, Join join) {
  const auto n = static_cast<float>(x.size());
  const float mean = sum_in_order(x.size(), visit, join, [&](size_t i) { return x[i]; }) / n;
  const float squares = sum_in_order(x.size(), visit, join, [&](size_t i) { return x[i] * x[i]; });
  return {mean, std::max(0.0f, squares / n - mean * mean)};
}

// Welford over `lanes` interleaved parts, merged pairwise.
Moments welford(const std::vector<float>& x, Visit visit, size_t lanes) {
  const auto order = visit_order(x.size(), visit, [&](size_t i) { return std::fabs(x[i]); });
  std::vector<Part> parts(lanes);
  for (size_t k = 0; k < x.size(); ++k) parts[k % lanes].add(x[order[k]]);
  for (size_t step = 1; step < lanes; step *= 2) {
    for (size_t p = 0; p + step < lanes; p += 2 * step) parts[p].merge(parts[p + step]);
  }
  return parts[0].moments();
}

struct Affine {
  std::vector<float> weight, bias;
};

std::vector<float> normalise(const std::vector<float>& x, Moments m, float eps, const Affine& affine,
                             bool fused) {
  const float r = 1 / std::sqrt(m.variance + eps);
  std::vector<float> y(x.size());
  for (size_t j = 0; j < x.size(); ++j) {
    const float w = affine.weight.empty() ? 1 : affine.weight[j],
                b = affine.bias.empty() ? 0 : affine.bias[j];
    y[j] = fused ? std::fmaf((x[j] - m.mean) * r, w, b) : (x[j] - m.mean) * r * w + b;
  }
  return y;
}

constexpr float kEps = 1e-5f;

struct Row {
  std::string name;
  std::vector<float> x;
};

std::vector<Row> rows(size_t n) {
  Rng rng(n);
  const auto row = [&](auto f) {
    std::vector<float> x(n);
    for (size_t i = 0; i < n; ++i) x[i] = static_cast<float>(f(i));
    return x;
  };
  return {{"centred", row([&](size_t) { return rng.normal(); })},
          {"mean1", row([&](size_t) { return 1 + rng.normal(); })},
          {"mean1e3", row([&](size_t) { return 1e3 + rng.normal(); })},
          {"mean-1e4", row([&](size_t) { return -1e4 + rng.normal(); })},
          {"narrow", row([&](size_t) { return 3 + 1e-5 * rng.normal(); })},
          {"outlier", row([&](size_t i) { return i == n / 2 ? 1e4 : rng.normal(); })},
          {"constant", row([&](size_t) { return 0.1; })},
          {"zero", row([&](size_t) { return 0; })},
          {"lattice", row([&](size_t) { return static_cast<double>(rng.below(65) - 32) + 100; })}};
}

Affine affine_of(size_t n, bool present) {
  Rng rng(n + 1000);
  Affine affine;
  for (size_t j = 0; j < n && present; ++j) {
    affine.weight.push_back(static_cast<float>(1 + 0.5 * rng.normal()));
    affine.bias.push_back(static_cast<float>(rng.normal()));
  }
  return affine;
}

Tensor tensor_of(const std::vector<float>& x) {
  return from_f32(x, {Dtype::f32, {static_cast<int64_t>(x.size())}});
}

Bounded bound(const Bounded& x, const Affine& affine, Variance variance) {
  std::vector<Bounded> inputs{x};
  if (!affine.weight.empty()) inputs.emplace_back(tensor_of(affine.weight));
  if (!affine.bias.empty()) inputs.emplace_back(tensor_of(affine.bias));
  Arithmetic arithmetic;
  arithmetic.variance = variance;
  return evaluate_op(LayerNorm{kEps}, inputs, arithmetic);
}

int count_outside(const Bounded& y, const std::vector<float>& got, Shares* shares = nullptr) {
  int outside = 0;
  for (size_t j = 0; j < got.size(); ++j) {
    for (Dtype dtype : kFloatDtypes) outside += !lawful(dtype, y.v[j], y.error(j), store(dtype, got[j]));
    if (shares) shares->add(share(Dtype::f32, y.v[j], y.error(j), static_cast<double>(got[j])));
  }
  return outside;
}

constexpr size_t kSizes[] = {1, 2, 3, 16, 17, 128, 1000, 4096};

template <class Statistics>
void check_row(const Row& row, Variance variance, Statistics statistics, const std::string& what,
               Shares& shares) {
  const Bounded x(tensor_of(row.x));
  for (bool affine_present : {false, true}) {
    const Affine affine = affine_of(row.x.size(), affine_present);
    const Bounded y = bound(x, affine, variance);
    for (bool fused : {false, true}) {
      EXPECT_EQ(count_outside(y, normalise(row.x, statistics(), kEps, affine, fused), &shares), 0)
          << what << " " << row.name << " n=" << row.x.size() << " affine " << affine_present << " fused "
          << fused;
    }
  }
}

TEST(LayerNorm, TwoPassInEveryOrder) {
  for (size_t n : kSizes) {
    for (const Row& row : rows(n)) {
      Shares shares;
      for (Visit visit : kVisits) {
        for (Join join : kJoins)
          check_row(
              row, Variance::two_pass, [&] { return two_pass(row.x, visit, join); }, "two_pass", shares);
      }
      RecordProperty(row.name + "_n" + std::to_string(n), shares.text());
      if (n > 1 && n <= 17 && row.name == "centred") {
        EXPECT_GT(shares.worst(), 0.02) << n;
      }
    }
  }
}

TEST(LayerNorm, WelfordInEveryOrder) {
  for (size_t n : kSizes) {
    for (const Row& row : rows(n)) {
      Shares shares;
      for (Visit visit : kVisits) {
        for (size_t lanes : {1, 2, 8, 32}) {
          check_row(
              row, Variance::welford, [&] { return welford(row.x, visit, lanes); }, "welford", shares);
        }
      }
      RecordProperty(row.name + "_n" + std::to_string(n), shares.text());
      if (n > 1 && n <= 17 && row.name == "centred") {
        EXPECT_GT(shares.worst(), 0.02) << n;
      }
    }
  }
}

TEST(LayerNorm, MomentsAreLawfulOnlyWhereDeclared) {
  for (size_t n : {size_t{2}, size_t{16}, size_t{128}, size_t{1000}}) {
    for (const Row& row : rows(n)) {
      Shares shares;
      for (Visit visit : kVisits) {
        for (Join join : kJoins)
          check_row(
              row, Variance::moments, [&] { return by_moments(row.x, visit, join); }, "moments", shares);
      }
    }
  }
  for (size_t n : {size_t{16}, size_t{17}, size_t{128}}) {
    const Row row = rows(n)[2];
    ASSERT_EQ(row.name, "mean1e3");
    const auto got = normalise(row.x, by_moments(row.x, Visit::forward, Join::chain), kEps, {}, false);
    EXPECT_GT(count_outside(bound(Bounded(tensor_of(row.x)), {}, Variance::two_pass), got), 0) << n;
  }
}

// Inputs anywhere in their intervals: all up, all down, alternating (which moves the variance most), at
// random.
TEST(LayerNorm, InexactInputs) {
  Rng rng(4);
  for (size_t n : {size_t{1}, size_t{2}, size_t{3}, size_t{17}, size_t{200}}) {
    for (double width : {1e-6, 1e-3, 0.05}) {
      for (const Row& row : rows(n)) {
        const Bounded x =
            with_error(Bounded(tensor_of(row.x)), [&](size_t) { return width * rng.uniform(); });
        const Affine affine = affine_of(n, true);
        for (Variance variance : {Variance::two_pass, Variance::welford}) {
          const Bounded y = bound(x, affine, variance);
          for (int corner = 0; corner < 8; ++corner) {
            std::vector<float> moved = row.x;
            for (size_t i = 0; i < n; ++i) {
              const double out = x.v[i] > x.v[0] ? 1 : -1;
              const double side = corner == 0   ? 1
                                  : corner == 1 ? -1
                                  : corner == 2 ? out
                                  : corner == 3 ? -out
                                                : rng.sign();
              const auto there = static_cast<float>(x.v[i] + side * x.e[i]);
              if (std::fabs(static_cast<double>(there) - x.v[i]) <= x.e[i]) moved[i] = there;
            }
            const Moments m = variance == Variance::two_pass ? two_pass(moved, Visit::forward, Join::lanes)
                                                             : welford(moved, Visit::forward, 4);
            EXPECT_EQ(count_outside(y, normalise(moved, m, kEps, affine, false)), 0)
                << row.name << " n=" << n << " width " << width;
          }
        }
      }
    }
  }
}

// A constant row has mean x and variance 0 in Welford's algorithm whatever x is, so y is exactly the bias.
TEST(LayerNorm, WelfordOnConstantRowsHasOneAnswer) {
  for (float value : {0.1f, -3e7f, 1e-30f}) {
    const std::vector<float> x(1000, value);
    const Bounded y = bound(Bounded(tensor_of(x)), {}, Variance::welford);
    for (size_t j = 0; j < x.size(); ++j) {
      EXPECT_EQ(y.v[j], 0);
      EXPECT_LE(y.error(j), 0x1p-125);
    }
  }
}

// The mean of equal values in two passes is not exact, which `welford` alone does not grant.
TEST(LayerNorm, TwoPassOrWelfordGrantsBoth) {
  int outside_welford = 0;
  for (size_t n : kSizes) {
    for (const Row& row : rows(n)) {
      Shares shares;
      for (Visit visit : kVisits) {
        for (Join join : kJoins) {
          const auto statistics = [&] { return two_pass(row.x, visit, join); };
          check_row(row, Variance::two_pass_or_welford, statistics, "two_pass", shares);
          const Bounded y = bound(Bounded(tensor_of(row.x)), {}, Variance::welford);
          outside_welford += count_outside(y, normalise(row.x, statistics(), kEps, {}, false));
        }
        for (size_t lanes : {1, 2, 8, 32}) {
          const auto statistics = [&] { return welford(row.x, visit, lanes); };
          check_row(row, Variance::two_pass_or_welford, statistics, "welford", shares);
        }
      }
    }
  }
  EXPECT_GT(outside_welford, 0);
}

TEST(LayerNorm, OverflowingSumsAreUnknown) {
  const std::vector<float> x(16, 0x1p126f);
  EXPECT_EQ(bound(Bounded(tensor_of(x)), {}, Variance::two_pass).error(0), kInf);
  const std::vector<float> spread{1e25f, -1e25f, 0, 1};
  EXPECT_EQ(bound(Bounded(tensor_of(spread)), {}, Variance::two_pass).error(0), kInf);
  EXPECT_EQ(bound(Bounded(tensor_of(x)), {}, Variance::moments).error(0), kInf);
}

TEST(LayerNorm, NaNAndInfinityMakeTheRowNaN) {
  for (double special : {kNan, kInf}) {
    std::vector<float> x(8, 1.5f);
    x[3] = static_cast<float>(special);
    const Bounded y = bound(Bounded(tensor_of(x)), {}, Variance::two_pass);
    for (size_t j = 0; j < x.size(); ++j) {
      EXPECT_TRUE(std::isnan(y.v[j]));
      EXPECT_EQ(y.error(j), 0);
    }
  }
}

}  // namespace
}  // namespace fusesmith::oracle

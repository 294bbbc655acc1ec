// The bound of accumulators against the unit that it describes, emulated (docs/results/fp8.md).
#include "oracle/reference/accumulator.h"

#include <gtest/gtest.h>

#include <functional>
#include <vector>

#include "graph/fill.h"
#include "graph/graph.h"
#include "graph/philox.h"
#include "oracle/reference.h"

namespace fusesmith::oracle {
namespace {

using graph::decode_quantized, graph::encode_quantized;

// Tensor cores of Hopper with 8-bit floats, with and without fast accumulation.
constexpr Accumulator kPromoted{32, 13, 13, 128}, kFast{32, 13, 13, 0};

double cut_to(double x, double unit) { return std::trunc(x / unit) * unit; }

// One step of the unit: the accumulator and the group's products, given with the exponents they are aligned
// by.
double added(double c, const std::vector<double>& terms, const std::vector<double>& alignments,
             const Accumulator& unit) {
  double largest = std::fabs(c);
  for (const double a : alignments) largest = std::max(largest, a);
  if (largest == 0) return 0;
  const double cut = ref::cut_unit(largest, unit.fraction_bits);
  double sum = cut_to(c, cut);
  for (const double x : terms) sum += cut_to(x, cut);
  return sum == 0 ? 0 : cut_to(sum, ref::cut_unit(std::fabs(sum), unit.out_bits));
}

struct Factors {
  std::vector<double> a, b;

  Factors(int64_t n, uint64_t seed, const std::function<double(double)>& make) {
    for (int64_t k = 0; k < 2 * n; ++k) {
      const graph::PhiloxBlock draw = graph::philox(seed, 0, static_cast<uint64_t>(k));
      double x = -2;
      for (const uint32_t word : draw) x += static_cast<double>(word) * 0x1p-32;
      const uint8_t code = encode_quantized(Dtype::f8e4m3, make(x * 1.7));
      (k < n ? a : b).push_back(static_cast<double>(decode_quantized(Dtype::f8e4m3, code)));
    }
  }
  double term(size_t k) const { return a[k] * b[k]; }
  double alignment(size_t k) const {
    const auto power = [](double x) { return x == 0 ? 0 : binade_of(std::max(std::fabs(x), 0x1p-6)); };
    return power(a[k]) * power(b[k]);
  }
};

struct Sums {
  double exact = 0, computed = 0, bound = 0, magnitude = 0;
};

Sums sums_of(const Factors& f, const Accumulator& unit) {
  Sums sums;
  const size_t n = f.a.size(), tile = unit.promote_every > 0 ? static_cast<size_t>(unit.promote_every) : n;
  for (size_t first = 0; first < n; first += tile) {
    double c = 0;
    for (size_t group = first; group < std::min(first + tile, n); group += static_cast<size_t>(unit.group)) {
      std::vector<double> terms, alignments;
      for (size_t k = group; k < std::min({group + static_cast<size_t>(unit.group), first + tile, n}); ++k) {
        terms.push_back(f.term(k));
        alignments.push_back(f.alignment(k));
        sums.exact += f.term(k);
        sums.magnitude += std::fabs(f.term(k));
      }
      c = added(c, terms, alignments, unit);
    }
    sums.computed += c;  // in f64: the additions in f32 have a bound of their own
  }
  sums.bound = ref::accumulator_error(unit, static_cast<int64_t>(n), [&](int64_t k) {
    const auto at = static_cast<size_t>(k);
    return ref::AlignedTerm{f.term(at), 0, f.alignment(at)};
  });
  return sums;
}

TEST(Accumulator, ErrorsOfTheUnitAreWithinTheBound) {
  const std::function<double(double)> data[] = {[](double x) { return 20 * x; },
                                                [](double x) { return 8 + x; },
                                                [](double x) { return x * x * x * 0.02; }};
  double loosest = 0;
  for (const Accumulator& unit : {kPromoted, kFast}) {
    for (const auto& make : data) {
      double worst = 0;
      for (const int64_t n : {1, 31, 32, 33, 128, 129, 640, 4096}) {
        for (uint64_t seed = 0; seed < 20; ++seed) {
          const Sums sums = sums_of(Factors(n, seed, make), unit);
          ASSERT_LE(std::fabs(sums.computed - sums.exact), sums.bound) << n << " " << seed;
          if (sums.bound > 0) worst = std::max(worst, std::fabs(sums.computed - sums.exact) / sums.bound);
          if (unit.promote_every > 0) loosest = std::max(loosest, sums.bound / sums.magnitude);
        }
      }
      EXPECT_GT(worst, 0.01);
    }
  }
  EXPECT_LT(loosest, 1e-3);  // of 1,000 equal terms, a lost one is found
}

// Where factors are known up to an error, the bound holds for every value that they may have.
TEST(Accumulator, ErrorsAreWithinTheBoundOfInexactFactors) {
  for (uint64_t seed = 0; seed < 40; ++seed) {
    const Factors actual(200, seed, [](double x) { return 8 * x * x * x; });
    const auto known = [](double x) { return 0.75 * x; };  // and wrong by a third of itself
    const auto power = [](double x) { return x == 0 ? 0 : binade_of(std::max(std::fabs(x), 0x1p-6)); };
    const double bound = ref::accumulator_error(kPromoted, 200, [&](int64_t k) {
      const double a = actual.a[static_cast<size_t>(k)], b = actual.b[static_cast<size_t>(k)];
      return ref::AlignedTerm{known(a) * known(b), std::fabs(a * b - known(a) * known(b)),
                              power(a) * power(b)};
    });
    const Sums sums = sums_of(actual, kPromoted);
    EXPECT_LE(std::fabs(sums.computed - sums.exact), bound) << seed;
    EXPECT_GE(bound, sums.bound) << seed;
  }
}

TEST(Accumulator, SumsOfSmallIntegersAreExact) {
  const Factors f(4096, 3, [](double x) { return x < 0 ? -1 : 1; });
  const Sums sums = sums_of(f, kFast);
  EXPECT_EQ(sums.bound, 0);
  EXPECT_EQ(sums.computed, sums.exact);
}

// The reference of a product of codes: its bound, and none where the contract names no accumulator.
TEST(Accumulator, BoundsProductsOfCodes) {
  graph::Builder builder;
  const auto a = builder.input("a", {Dtype::f8e4m3, {3, 512}}, graph::Normal{8, 1});
  const auto b = builder.input("b", {Dtype::f8e4m3, {5, 512}}, graph::Normal{8, 1});
  builder.output(builder.node(graph::Matmul{false, true}, {a, b}, "y"));
  const graph::Graph graph = *builder.build();
  const Bounded x(graph::materialize(graph::Normal{8, 1}, graph.type(a), 1, "a", 0));
  const Bounded w(graph::materialize(graph::Normal{8, 1}, graph.type(b), 1, "b", 0));
  const auto bound_of = [&](const Accumulator& unit) {
    Arithmetic arithmetic;
    arithmetic.accumulator = unit;
    const std::vector<const Bounded*> in = {&x, &w};
    const Types out = {graph.type(2)};
    return reference(graph.nodes()[0].op, in, out, arithmetic)[0].error(0);
  };
  const double in_f32 = bound_of({}), promoted = bound_of(kPromoted), fast = bound_of(kFast);
  EXPECT_LT(in_f32, promoted);  // a correct kernel of DeepGEMM's kind would have been reported
  EXPECT_LT(promoted, fast);
}

}  // namespace
}  // namespace fusesmith::oracle

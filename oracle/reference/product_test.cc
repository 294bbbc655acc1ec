// Products: no order of accumulation leaves the bound, lattice data leaves no choice at all, and the bound is
// not idle. The shares of the bound that were reached stand in the test's properties (--gtest_output=json).
#include <gtest/gtest.h>

#include <algorithm>
#include <bit>

#include "graph/ops/einsum.h"
#include "oracle/test_support.h"

namespace fusesmith::oracle {
namespace {

using namespace testing_support;

enum class Data { normal, one_signed, cancelling, wide, lattice, tiny, stagnating };
constexpr Data kData[] = {Data::normal,  Data::one_signed, Data::cancelling, Data::wide,
                          Data::lattice, Data::tiny,       Data::stagnating};
constexpr std::string_view kDataNames[] = {"normal",  "one_signed", "cancelling", "wide",
                                           "lattice", "tiny",       "stagnating"};
constexpr int64_t kDepths[] = {1, 2, 3, 7, 16, 33, 128, 1000, 4096};

// Element (row, k) of an operand; `cancels`: neighbours along k nearly cancel, else they are equal.
double draw(Rng& rng, Data data, Dtype dtype, int64_t k, bool cancels, double& previous) {
  const int range = dtype == Dtype::f16 ? 5 : 30;
  switch (data) {
    case Data::normal:
      return rng.normal();
    case Data::one_signed:
      return rng.uniform();
    case Data::cancelling:
      if (k % 2 == 0) return previous = rng.normal();
      return cancels ? -previous * (1 + 0.05 * rng.normal()) : previous;
    case Data::wide:
      return rng.sign() * std::exp2(rng.uniform(-range, range));
    case Data::lattice:
      return static_cast<double>(rng.below(17) - 8);
    case Data::tiny:
      return rng.normal() * (dtype == Dtype::f16 ? 0x1p-14 : 0x1p-66);
    case Data::stagnating:
      return k == 0 ? 1 : cancels ? 0x1p-12 : 0x1.fcp-13;  // 1, then terms just too small to add to it
  }
  return 0;
}

Tensor operand(Rng& rng, Data data, Dtype dtype, int64_t rows, int64_t depth, bool cancels) {
  double previous = 0;
  return make_tensor({dtype, {rows, depth}},
                     [&](int64_t i) { return draw(rng, data, dtype, i % depth, cancels, previous); });
}

struct Dot {
  const float *a, *b;
  size_t depth;
  float bias;

  float operator()(Visit visit, Join join, bool fused) const {
    const auto order = visit_order(depth, visit, [&](size_t k) { return std::fabs(a[k] * b[k]); });
    return accumulate(order, 0, depth, join, bias, [&](float sum, size_t k) {
      return fused ? std::fmaf(a[k], b[k], sum) : sum + a[k] * b[k];
    });
  }
};

// One element in every order.
void check_element(const Dot& dot, Data data, Dtype dtype, double v, double e, Shares& shares) {
  if (data == Data::lattice) {
    EXPECT_EQ(e, 0);
  }
  for (Visit visit : kVisits) {
    for (Join join : kJoins) {
      for (bool fused : {false, true}) {
        const double got = store(dtype, dot(visit, join, fused));
        EXPECT_TRUE(lawful(dtype, v, e, got))
            << "depth " << dot.depth << " data " << kDataNames[static_cast<int>(data)] << " visit "
            << static_cast<int>(visit) << " join " << static_cast<int>(join) << " fused " << fused << ": got "
            << got << " want " << v << " +- " << e;
        if (data == Data::lattice) {
          EXPECT_EQ(got, round_to(dtype, v));
        }
        shares.add(share(dtype, v, e, got));
      }
    }
  }
}

// Checks every element of one product in every order; returns the shares reached.
class Orders : public ::testing::TestWithParam<Dtype> {
 protected:
  static constexpr int64_t kRows = 3, kCols = 4;

  void check_all(Data data, int64_t depth, Shares& shares) {
    const Dtype dtype = GetParam();
    Rng rng(static_cast<uint64_t>(depth) * 8 + static_cast<uint64_t>(data));
    const Tensor a = operand(rng, data, dtype, kRows, depth, true),
                 b = operand(rng, data, dtype, kCols, depth, false);
    double unused = 0;
    const Tensor bias =
        make_tensor({dtype, {kCols}}, [&](int64_t) { return draw(rng, data, dtype, 0, false, unused); });
    const bool with_bias = depth % 2 == 1;
    std::vector<Bounded> inputs{Bounded(a), Bounded(b)};
    if (with_bias) inputs.emplace_back(bias);
    const Bounded y = evaluate_op(Linear{}, inputs);
    const Bounded matmul = evaluate_op(Matmul{false, true}, {Bounded(a), Bounded(b)});
    const Bounded einsum = evaluate_op(Einsum{"mk,nk->mn"}, {Bounded(a), Bounded(b)});
    const auto fa = to_f32(a), fb = to_f32(b), fbias = to_f32(bias);
    for (size_t i = 0; i < y.v.size(); ++i) {
      const size_t m = i / kCols, n = i % kCols, k = static_cast<size_t>(depth);
      const Dot dot{fa.data() + m * k, fb.data() + n * k, k, with_bias ? fbias[n] : 0};
      ASSERT_EQ(matmul.v[i], einsum.v[i]);
      ASSERT_EQ(matmul.error(i), einsum.error(i));
      if (!with_bias) {
        ASSERT_EQ(matmul.error(i), y.error(i));
      }
      check_element(dot, data, dtype, y.v[i], y.error(i), shares);
    }
  }
};

TEST_P(Orders, StayInBounds) {
  for (Data data : kData) {
    for (int64_t depth : kDepths) {
      Shares shares;
      check_all(data, depth, shares);
      const std::string name(kDataNames[static_cast<int>(data)]);
      RecordProperty(name + "_K" + std::to_string(depth), shares.text());
      if (data == Data::stagnating && GetParam() == Dtype::f32 && depth >= 16 && depth % 2 == 0) {
        EXPECT_GT(shares.worst(), 0.7) << "K=" << depth;  // the bound is nearly reached
      }
      const bool rounds = data != Data::lattice && data != Data::tiny && data != Data::stagnating;
      if (rounds && depth <= 16) {
        EXPECT_GT(shares.worst(), 0.02) << name << " K=" << depth;
      }
    }
  }
}

INSTANTIATE_TEST_SUITE_P(Product, Orders, ::testing::ValuesIn(kFloatDtypes),
                         [](const auto& param) { return std::string(name(param.param)); });

// 2^127 + 2^127 - 2^127 is 2^127, or infinite in another order: exact granularity alone proves nothing.
// Lanes that add every 256th term, then a tree of 8 levels: 1 + 4096 / 256 + 8 roundings at most.
TEST(Product, AKnownTreeIsBoundedByItsHeight) {
  constexpr size_t kDepth = 4096, kLanes = 256, kHeight = 1 + kDepth / kLanes + 8;
  Arithmetic tree;
  tree.sum_height = kHeight;
  Shares shares;
  for (const Data data : kData) {
    Rng rng(static_cast<uint64_t>(data));
    const Tensor a = operand(rng, data, Dtype::f32, 1, kDepth, true),
                 b = operand(rng, data, Dtype::f32, 1, kDepth, false);
    const auto fa = to_f32(a), fb = to_f32(b);
    std::vector<float> lanes(kLanes, 0.0f);
    for (size_t k = 0; k < kDepth; ++k) lanes[k % kLanes] = std::fmaf(fa[k], fb[k], lanes[k % kLanes]);
    for (size_t width = kLanes / 2; width > 0; width /= 2) {
      for (size_t l = 0; l < width; ++l) lanes[l] += lanes[l + width];
    }
    const Op dot = Einsum{"mk,nk->mn"};
    const Bounded any = evaluate_op(dot, {Bounded(a), Bounded(b)});
    const Bounded known = evaluate_op(dot, {Bounded(a), Bounded(b)}, tree);
    EXPECT_EQ(any.v[0], known.v[0]);
    EXPECT_LE(known.error(0), any.error(0));
    if (data != Data::lattice && data != Data::tiny) {  // exact, or mostly underflow
      EXPECT_LT(known.error(0), 0.01 * any.error(0));
    }
    EXPECT_TRUE(lawful(Dtype::f32, known.v[0], known.error(0), lanes[0]))
        << kDataNames[static_cast<int>(data)];
  }
}

// -2^-46 - 2^-25 has all its bits in an f32, but a tensor core aligns the terms as if the subnormals were
// 2^-14: it loses the smaller one.
TEST(Product, SubnormalFactorsTakeTheRoomOfNormalOnes) {
  const auto product = [](Dtype dtype) {
    const Bounded a(make_tensor({dtype, {1, 2}}, {-4 * 0x1p-24, 2 * 0x1p-24})),
        b(make_tensor({dtype, {2, 1}}, {0x1p-24, -0.25}));
    return evaluate_op(Matmul{}, {a, b});
  };
  EXPECT_EQ(product(Dtype::f32).error(0), 0);
  EXPECT_EQ(product(Dtype::f32).v[0], -0x1p-46 - 0x1p-25);
  const Bounded y = product(Dtype::f16);
  EXPECT_TRUE(lawful(Dtype::f16, y.v[0], y.error(0), -0.0));
  EXPECT_TRUE(lawful(Dtype::f16, y.v[0], y.error(0), -0x1p-24));
  EXPECT_FALSE(lawful(Dtype::f16, y.v[0], y.error(0), -2 * 0x1p-24));
}

TEST(Product, OverflowOnTheWayIsUnknown) {
  const Bounded ones(make_tensor({Dtype::f32, {1, 3}}, {1, 1, 1}));
  const Bounded big(make_tensor({Dtype::f32, {3, 1}}, {0x1p127, 0x1p127, -0x1p127}));
  EXPECT_EQ(evaluate_op(Matmul{}, {ones, big}).error(0), kInf);
  const Bounded positive(make_tensor({Dtype::f32, {3, 1}}, {0x1p127, 0x1p127, 0x1p127}));
  const Bounded y = evaluate_op(Matmul{}, {ones, positive});
  EXPECT_TRUE(lawful(Dtype::f32, y.v[0], y.error(0), kInf));
  EXPECT_FALSE(lawful(Dtype::f32, y.v[0], y.error(0), max_finite(Dtype::f32)));
}

// inf + (1e30 * -1e30): infinite with a fused multiply-add, NaN when the product overflows by itself.
TEST(Product, OverflowBesideAnInfinityIsUnknown) {
  const Bounded a(make_tensor({Dtype::f32, {1, 2}}, {kInf, 1e30})),
      b(make_tensor({Dtype::f32, {2, 1}}, {1, -1e30}));
  EXPECT_EQ(evaluate_op(Matmul{}, {a, b}).error(0), kInf);
}

TEST(Product, InfinitiesAndNaNsAreExact) {
  const auto product = [](std::vector<double> a, std::vector<double> b) {
    const auto n = static_cast<int64_t>(a.size());
    return evaluate_op(Matmul{}, {Bounded(make_tensor({Dtype::f32, {1, n}}, a)),
                                  Bounded(make_tensor({Dtype::f32, {n, 1}}, b))});
  };
  for (const Bounded& y :
       {product({kInf, 1}, {0, 1}), product({kInf, kInf}, {1, -1}), product({kNan, 1}, {1, 1})}) {
    EXPECT_TRUE(std::isnan(y.v[0]));
    EXPECT_EQ(y.error(0), 0);
  }
  const Bounded infinite = product({-kInf, 1}, {2, 3});
  EXPECT_EQ(infinite.v[0], -kInf);
  EXPECT_EQ(infinite.error(0), 0);
}

TEST(Product, ABiasOffTheLatticeIsNotExact) {
  const Bounded big(make_tensor({Dtype::f32, {1, 1}}, {4096})), bias(make_tensor({Dtype::f32, {1}}, {0.1}));
  EXPECT_EQ(evaluate_op(Linear{}, {big, big}).error(0), 0);
  EXPECT_GT(evaluate_op(Linear{}, {big, big, bias}).error(0), 0);
}

TEST(Product, UnknownInputsMakeUnknownOutputs) {
  const Bounded a = with_error(Bounded(make_tensor({Dtype::f32, {1, 2}}, {1, 2})),
                               [](size_t i) { return i == 0 ? kInf : 0; });
  const Bounded zeros(make_tensor({Dtype::f32, {2, 1}}, {0, 1}));
  EXPECT_EQ(evaluate_op(Matmul{}, {a, zeros}).error(0), kInf);
}

// Inputs anywhere in their intervals, with all of them at the corner that hurts most.
TEST(Product, InexactInputs) {
  Rng rng(5);
  for (int64_t depth : {1, 3, 40}) {
    const auto values = [&](int64_t) { return rng.normal(); };
    const Bounded a = with_error(Bounded(make_tensor({Dtype::f32, {1, depth}}, values)),
                                 [&](size_t) { return rng.uniform(0, 0.1); });
    const Bounded b = with_error(Bounded(make_tensor({Dtype::f32, {depth, 1}}, values)),
                                 [&](size_t) { return rng.uniform(0, 0.1); });
    const Bounded y = evaluate_op(Matmul{}, {a, b});
    double worst = 0, spread = 0;
    for (size_t k = 0; k < a.v.size(); ++k) {
      worst += (std::fabs(a.v[k]) + a.e[k]) * (std::fabs(b.v[k]) + b.e[k]) - std::fabs(a.v[k] * b.v[k]);
      spread += std::fabs(a.v[k] * b.v[k]);
    }
    EXPECT_GE(y.e[0], worst);
    EXPECT_LE(y.e[0], worst + 2 * static_cast<double>(depth + 2) * kU * (spread + worst));
  }
}

// How tensor cores read an f32: the lower 13 bits cut off, or rounded to nearest even.
float truncated(float x) { return std::bit_cast<float>(std::bit_cast<uint32_t>(x) & ~0x1fffu); }
float rounded(float x) {
  const uint32_t bits = std::bit_cast<uint32_t>(x);
  return truncated(std::bit_cast<float>(bits + 0xfffu + (bits >> 13 & 1u)));
}

constexpr Arithmetic with_tf32() {
  Arithmetic arithmetic;
  arithmetic.tf32 = true;
  return arithmetic;
}

TEST(Tf32, EveryOrderStaysInBounds) {
  for (Data data : kData) {
    for (int64_t depth : kDepths) {
      Rng rng(static_cast<uint64_t>(depth));
      const Tensor a = operand(rng, data, Dtype::f32, 3, depth, true),
                   b = operand(rng, data, Dtype::f32, 4, depth, false);
      const Bounded y = evaluate_op(Matmul{false, true}, {Bounded(a), Bounded(b)}, with_tf32());
      Shares shares;
      for (const auto read : {truncated, rounded}) {
        auto fa = to_f32(a), fb = to_f32(b);
        std::transform(fa.begin(), fa.end(), fa.begin(), read);
        std::transform(fb.begin(), fb.end(), fb.begin(), read);
        for (size_t i = 0; i < y.v.size(); ++i) {
          const auto k = static_cast<size_t>(depth);
          check_element({fa.data() + i / 4 * k, fb.data() + i % 4 * k, k, 0}, data, Dtype::f32, y.v[i],
                        y.error(i), shares);
        }
      }
      RecordProperty(std::string(kDataNames[static_cast<int>(data)]) + "_K" + std::to_string(depth),
                     shares.text());
      if (data == Data::one_signed) {
        EXPECT_GT(shares.worst(), 0.2) << "K=" << depth;  // truncation has one direction
      }
    }
  }
}

// Where it is known how operands are read, they are exact. Ties may go to either side.
TEST(Tf32, AKnownWayIsSharp) {
  const float tie = 1 + 0x1p-11f, above_tie = 1 + 0x1p-11f + 0x1p-23f;
  Rng rng(5);
  Tensor a = operand(rng, Data::normal, Dtype::f32, 3, 64, true);
  a.set(0, static_cast<double>(above_tie));
  const Tensor b = operand(rng, Data::normal, Dtype::f32, 4, 64, false);
  for (const bool truncates : {true, false}) {
    Arithmetic arithmetic;
    (truncates ? arithmetic.tf32_truncated : arithmetic.tf32_nearest) = true;
    const Bounded y = evaluate_op(Matmul{false, true}, {Bounded(a), Bounded(b)}, arithmetic);
    const auto sum = [&](size_t i, auto read) {
      double total = 0;
      for (int64_t k = 0; k < 64; ++k)
        total +=
            static_cast<double>(read(static_cast<float>(a.value(static_cast<int64_t>(i / 4) * 64 + k)))) *
            static_cast<double>(read(static_cast<float>(b.value(static_cast<int64_t>(i % 4) * 64 + k))));
      return total;
    };
    int told_apart = 0;
    for (size_t i = 0; i < y.v.size(); ++i) {
      const double cut = sum(i, truncated), nearest = sum(i, rounded);
      EXPECT_NEAR(y.v[i], truncates ? cut : nearest, 1e-12);
      told_apart += std::fabs(cut - nearest) > 2 * y.error(i);
    }
    EXPECT_GT(told_apart, 6);
    const auto one = [](float x) {
      return Bounded(make_tensor({Dtype::f32, {1, 1}}, {static_cast<double>(x)}));
    };
    const Bounded of_tie = evaluate_op(Matmul{}, {one(tie), one(1)}, arithmetic);
    EXPECT_TRUE(lawful(Dtype::f32, of_tie.v[0], of_tie.error(0), 1));
    EXPECT_EQ(lawful(Dtype::f32, of_tie.v[0], of_tie.error(0), 1 + 0x1p-10), !truncates);
  }
}

float large_part(float x) { return truncated(x); }
float small_part(float x) { return rounded(x - truncated(x)); }

// Three products of parts, added in one order or another; the product of small parts is left out.
TEST(Tf32, ThreeProductsStayInBounds) {
  Arithmetic arithmetic;
  arithmetic.tf32x3 = true;
  double worst = 0;
  for (int64_t depth : {1, 3, 64, 500}) {
    Rng rng(static_cast<uint64_t>(depth));
    const Tensor a = operand(rng, Data::normal, Dtype::f32, 3, depth, true),
                 b = operand(rng, Data::normal, Dtype::f32, 4, depth, false);
    const Bounded y = evaluate_op(Matmul{false, true}, {Bounded(a), Bounded(b)}, arithmetic);
    const std::vector<float> fa = to_f32(a), fb = to_f32(b);
    for (size_t i = 0; i < y.v.size(); ++i) {
      float large = 0, small = 0;
      for (size_t k = 0; k < static_cast<size_t>(depth); ++k) {
        const float p = fa[i / 4 * static_cast<size_t>(depth) + k],
                    q = fb[i % 4 * static_cast<size_t>(depth) + k];
        small += large_part(p) * small_part(q);
        small += small_part(p) * large_part(q);
        large += large_part(p) * large_part(q);
      }
      const double error = std::fabs(static_cast<double>(small + large) - y.v[i]);
      EXPECT_LE(error, y.error(i)) << "K=" << depth;
      worst = std::fmax(worst, error / y.error(i));
    }
  }
  EXPECT_GT(worst, 0.05);  // the bound is not idle
  EXPECT_LT(worst, 1);
}

// tf32 where ieee was asked is seen; bf16 values in f32 are the same in both.
TEST(Tf32, OnlyInexactOperandsOfF32Count) {
  Rng rng(3);
  const auto shares_of_ieee = [&](Dtype data_dtype) {
    const Tensor x = operand(rng, Data::normal, data_dtype, 8, 64, false);
    const Tensor stored = from_f32(to_f32(x), {Dtype::f32, {8, 64}});
    const Bounded ieee = evaluate_op(Matmul{false, true}, {Bounded(stored), Bounded(stored)}),
                  tf32 = evaluate_op(Matmul{false, true}, {Bounded(stored), Bounded(stored)}, with_tf32());
    return tf32.error(0) / ieee.error(0);
  };
  EXPECT_NEAR(shares_of_ieee(Dtype::bf16), (1.25 * 64 + 4) / (64 + 2), 1e-3);  // only tensor cores' sums
  EXPECT_GT(shares_of_ieee(Dtype::f32), 100);
  for (const Dtype dtype : {Dtype::f16, Dtype::bf16}) {
    const Bounded x(operand(rng, Data::normal, dtype, 8, 64, false));
    EXPECT_EQ(evaluate_op(Linear{}, {x, x}, with_tf32()).e, evaluate_op(Linear{}, {x, x}).e);
  }
}

TEST(Tf32, TheBiasIsNotRounded) {
  const Bounded one(make_tensor({Dtype::f32, {1, 1}}, {1})),
      bias(make_tensor({Dtype::f32, {1}}, {0x1.000002p0}));
  EXPECT_LT(evaluate_op(Linear{}, {one, one, bias}, with_tf32()).error(0), 7 * kU * 2);
}

// Probabilities that are known up to some error are rounded as well, wherever in their interval they lie.
TEST(Tf32, InexactOperandsAreRoundedToo) {
  const Bounded p =
      with_error(Bounded(make_tensor({Dtype::f32, {1, 1}}, {1})), [](size_t) { return 0x1p-12; });
  const Bounded v(make_tensor({Dtype::f32, {1, 1}}, {1}));
  const Bounded y = evaluate_op(Matmul{}, {p, v}, with_tf32());
  const float furthest = 1 - 0x1p-12f;
  EXPECT_TRUE(lawful(Dtype::f32, y.v[0], y.error(0), static_cast<double>(truncated(furthest))));
  EXPECT_LT(y.error(0), 0x1p-10 + 0x1p-11);
}

// Subnormals lose more than others; the largest numbers may become infinite, and what is NaN stays so.
TEST(Tf32, Edges) {
  const auto product = [](double a, double b) {
    const auto operand = [](double x) { return Bounded(make_tensor({Dtype::f32, {1, 1}}, {x})); };
    return evaluate_op(Matmul{}, {operand(a), operand(b)}, with_tf32());
  };
  const float subnormal = 0x1.7fp-138f, large = 0x1p100f;
  const Bounded small = product(static_cast<double>(subnormal), static_cast<double>(large));
  for (const float read : {truncated(subnormal), rounded(subnormal)})
    EXPECT_TRUE(lawful(Dtype::f32, small.v[0], small.error(0), static_cast<double>(read * large)));
  EXPECT_EQ(rounded(0x1.fffp127f), static_cast<float>(kInf));
  EXPECT_EQ(product(0x1.fffp127, 0x1p-20).error(0), kInf);
  EXPECT_LT(product(0x1.ffdp127, 0x1p-20).error(0), 0x1p98);
  EXPECT_EQ(product(kInf, 2).error(0), 0);

  const Bounded a(make_tensor({Dtype::f32, {1, 2}}, {kNan, 0.1})),
      b(make_tensor({Dtype::f32, {2, 1}}, {0.1, 0.2}));
  const Bounded y = evaluate_op(Matmul{}, {a, b}, with_tf32());
  EXPECT_TRUE(std::isnan(y.v[0]));
  EXPECT_EQ(y.error(0), 0);
}

// Every equation against a loop over all its letters, on data whose sums are exact.
TEST(Product, EinsumReadsTheRightElements) {
  const std::string equations[] = {"bid,bdh->bih",    "ij,jk->ik", "ij,kj->ki", "ij,j->i",
                                   "i,j->ij",         "ab,cd->",   "ii,i->i",   "iij,ji->j",
                                   "bikd,bjkd->bijd", "ab,ab->ab", "ba,ac->cb", "a,->a"};
  Rng rng(9);
  for (const std::string& equation : equations) {
    const EinsumLabels labels = *parse_equation(equation);
    const std::string letters = labels.out + labels.summed;
    Shape sizes;
    for (size_t i = 0; i < letters.size(); ++i) sizes.push_back(2 + rng.below(3));
    const auto size_of_letter = [&](char c) { return sizes[letters.find(c)]; };
    const auto lattice = [&](const std::string& word) {
      Shape shape;
      for (char c : word) shape.push_back(size_of_letter(c));
      return make_tensor({Dtype::f32, shape},
                         [&](int64_t) { return static_cast<double>(rng.below(17) - 8); });
    };
    const Tensor a = lattice(labels.a), b = lattice(labels.b);
    const Bounded y = evaluate_op(Einsum{equation}, {Bounded(a), Bounded(b)});
    std::vector<double> want(y.v.size(), 0);
    for (int64_t at = 0; at < element_count(sizes); ++at) {
      Shape index(letters.size());
      for (int64_t rest = at, d = static_cast<int64_t>(letters.size()); d-- > 0;) {
        index[static_cast<size_t>(d)] = rest % sizes[static_cast<size_t>(d)];
        rest /= sizes[static_cast<size_t>(d)];
      }
      const auto offset = [&](const std::string& word) {
        int64_t flat = 0;
        for (char c : word) flat = flat * size_of_letter(c) + index[letters.find(c)];
        return flat;
      };
      want[static_cast<size_t>(offset(labels.out))] += a.value(offset(labels.a)) * b.value(offset(labels.b));
    }
    EXPECT_EQ(y.v, want) << equation;
    EXPECT_TRUE(y.exact()) << equation;
  }
}

TEST(Product, MatmulBroadcastsAndTransposes) {
  Rng rng(11);
  for (const bool ta : {false, true}) {
    for (const bool tb : {false, true}) {
      const Shape sa = ta ? Shape{2, 1, 4, 3} : Shape{2, 1, 3, 4}, sb = tb ? Shape{5, 2, 4} : Shape{5, 4, 2};
      const auto lattice = [&](int64_t) { return static_cast<double>(rng.below(17) - 8); };
      const Tensor a = make_tensor({Dtype::bf16, sa}, lattice), b = make_tensor({Dtype::bf16, sb}, lattice);
      const Bounded y = evaluate_op(Matmul{ta, tb}, {Bounded(a), Bounded(b)});
      ASSERT_EQ(y.type, (TensorType{Dtype::bf16, {2, 5, 3, 2}}));
      for (int64_t i = 0; i < 60; ++i) {
        const int64_t n = i % 2, m = i / 2 % 3, bb = i / 6 % 5, ba = i / 30;
        double want = 0;
        for (int64_t k = 0; k < 4; ++k) {
          want += a.value(ba * 12 + (ta ? k * 3 + m : m * 4 + k)) *
                  b.value(bb * 8 + (tb ? n * 4 + k : k * 2 + n));
        }
        EXPECT_EQ(y.v[static_cast<size_t>(i)], want);
      }
    }
  }
}

}  // namespace
}  // namespace fusesmith::oracle

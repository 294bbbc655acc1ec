// What is revealed of kernels with a known order, and what is not trusted.
#include "fuzz/order/order.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "fuzz/order/declared_accumulator.h"
#include "fuzz/order/reveal.h"
#include "fuzz/order/test_kernel.h"

namespace fusesmith::fuzz {
namespace {

using Kind = NodeArithmetic::Kind;
using State = OrderReport::State;
using testing::HasSubstr;

// Products of f32 are rounded or not, at random; of two products in one operation the first one always is.
TestOrder with_uses(RawTree tree, int64_t terms, NodeArithmetic arithmetic, Dtype dtype,
                    std::mt19937_64& random) {
  std::vector<ProductUse> uses(static_cast<size_t>(terms));
  const bool exact = dtype != Dtype::f32 || arithmetic.kind != Kind::f32;
  for (ProductUse& use : uses) use.rounded = !exact && random() % 2 == 0;
  for (const RawTree::Node& node : tree.nodes) {
    if (!exact && node.terms.size() == 2) uses[static_cast<size_t>(node.terms[0])].rounded = true;
  }
  return {std::move(tree), std::move(uses), arithmetic, dtype};
}

struct Sample {
  Kind kind;
  Dtype dtype;
  size_t most_operands;
};

std::vector<Sample> samples() {
  return {{Kind::f32, Dtype::f32, 2},
          {Kind::f32, Dtype::bf16, 2},
          {Kind::f32, Dtype::f16, 2},
          {Kind::narrow_sums, Dtype::f16, 2},
          {Kind::narrow_sums, Dtype::bf16, 2},
          {Kind::f64, Dtype::bf16, 2},
          {Kind::f64, Dtype::bf16, 2},
          {Kind::tensor_core, Dtype::bf16, 17},
          {Kind::tensor_core, Dtype::f16, 5},
          {Kind::f32, Dtype::f8e4m3, 2},
          {Kind::tensor_core, Dtype::f8e4m3, 9},
          {Kind::tensor_core, Dtype::f8e5m2, 17}};
}

TEST(Reveal, IsWhatWasBuilt) {
  std::mt19937_64 random(1);
  for (const auto& [kind, dtype, most] : samples()) {
    for (int64_t terms = 2; terms < 40; terms += 1 + terms / 6) {
      const TestOrder order = with_uses(random_tree(terms, most, random), terms,
                                        {kind, kind == Kind::tensor_core ? 25 : 0}, dtype, random);
      TestKernel kernel(order);
      const SumTree built = compress(order.tree, order.uses);
      for (const bool other : {false, true}) {
        const auto revealed = reveal(kernel, {other, 7});
        ASSERT_TRUE(revealed.ok()) << revealed.problem();
        EXPECT_EQ(revealed->tree, built) << to_string(revealed->tree) << " instead of " << to_string(built);
      }
    }
  }
}

// More terms than units that a 16-bit result can count.
TEST(Reveal, ManyTermsOf16Bits) {
  std::mt19937_64 random(2);
  const auto expect = [&](RawTree tree, int64_t terms, NodeArithmetic arithmetic) {
    const TestOrder order = with_uses(std::move(tree), terms, arithmetic, Dtype::bf16, random);
    TestKernel kernel(order, 64, 1);
    for (const bool other : {false, true}) {
      const auto revealed = reveal(kernel, {other, 3});
      ASSERT_TRUE(revealed.ok()) << revealed.problem();
      EXPECT_EQ(revealed->tree, compress(order.tree, order.uses)) << to_string(revealed->tree);
    }
  };
  expect(groups(700, 16), 700, {Kind::tensor_core, 25});
  expect(chains(600, 4, true), 600, {});
  expect(chains(600, 1, false), 600, {});
  expect(random_tree(400, 3, random), 400, {Kind::tensor_core, 24});
  RawTree backwards = chains(520, 1, false);
  for (RawTree::Node& node : backwards.nodes) {
    for (int64_t& term : node.terms) term = 519 - term;
  }
  expect(backwards, 520, {});
}

// Accumulators of 13 fraction bits, added in f32 after every fourth group of 32.
RawTree promoted(int64_t terms) {
  RawTree tree;
  int sum = -1;
  for (int64_t first = 0; first < terms; first += 128) {
    const RawTree part = groups(std::min<int64_t>(128, terms - first), 32);
    const auto base = static_cast<int>(tree.nodes.size());
    for (RawTree::Node node : part.nodes) {
      for (int64_t& term : node.terms) term += first;
      for (int& child : node.nodes) child += base;
      tree.nodes.push_back(std::move(node));
    }
    const auto last = static_cast<int>(tree.nodes.size()) - 1;
    if (sum >= 0) tree.nodes.push_back({{}, {sum, last}});
    sum = static_cast<int>(tree.nodes.size()) - 1;
  }
  tree.root = sum;
  return tree;
}

TEST(Reveal, ProbesGrowWithNLogN) {
  std::mt19937_64 random(3);
  for (const int64_t terms : {256, 512}) {
    TestKernel kernel(with_uses(chains(terms, 8, true), terms, {}, Dtype::f32, random), 64, 1);
    const auto revealed = reveal(kernel);
    ASSERT_TRUE(revealed.ok());
    EXPECT_LE(revealed->probes, 4 * terms);
  }
}

TEST(Reveal, TooManyProbesAreRefused) {
  std::mt19937_64 random(4);
  TestKernel kernel(with_uses(chains(256, 8, true), 256, {}, Dtype::f32, random));
  const auto revealed = reveal(kernel, {false, 1, 100});
  ASSERT_FALSE(revealed.ok());
  EXPECT_EQ(revealed.problem(), "more than 100 probes are needed");
}

OrderReport found(SumKernel& kernel) { return find_order(kernel, {.products = 20}); }

TEST(Order, KnownArithmeticIsTrusted) {
  std::mt19937_64 random(5);
  const auto expect = [&](RawTree tree, int64_t terms, NodeArithmetic arithmetic, Dtype dtype) {
    const TestOrder order = with_uses(std::move(tree), terms, arithmetic, dtype, random);
    TestKernel kernel(order);
    const OrderReport report = found(kernel);
    EXPECT_EQ(report.state, State::trusted) << report.reason << ", " << to_string(report.order.arithmetic);
    EXPECT_EQ(report.order.arithmetic, arithmetic) << to_string(report.order.arithmetic);
    EXPECT_EQ(report.order.tree, compress(order.tree, order.uses)) << to_string(report.order.tree);
    EXPECT_EQ(report.products, 20);
    EXPECT_EQ(report.equal_elements, report.elements);
    EXPECT_EQ(report.accumulator, std::nullopt);  // the contract key is one of 8-bit floats
  };
  for (const int64_t terms : {64, 160}) {
    for (const Dtype dtype : kFloatDtypes) {
      expect(chains(terms, 8, true), terms, {}, dtype);
      expect(chains(terms, 1, false), terms, {}, dtype);
      expect(random_tree(terms, 2, random), terms, {}, dtype);
    }
    expect(chains(terms, 2, false), terms, {Kind::f64}, Dtype::f32);
    expect(chains(terms, 2, false), terms, {Kind::narrow_sums}, Dtype::f16);
    expect(chains(terms, 2, false), terms, {Kind::narrow_sums}, Dtype::bf16);
    for (const int bits : {23, 24, 25, 26})
      expect(groups(terms, 16), terms, {Kind::tensor_core, bits}, Dtype::bf16);
    expect(groups(terms + 8, 16), terms + 8, {Kind::tensor_core, 25}, Dtype::f16);
    expect(groups(terms, 4), terms, {Kind::tensor_core, 23, true}, Dtype::f16);
    expect(random_tree(terms, 9, random), terms, {Kind::tensor_core, 24}, Dtype::bf16);
  }
}

TEST(Order, ProductsOf8BitFloats) {
  std::mt19937_64 random(8);
  const NodeArithmetic hopper{Kind::tensor_core, 13, false, NodeArithmetic::Operands::kept, 13, false};
  for (const Dtype dtype : {Dtype::f8e4m3, Dtype::f8e5m2}) {
    for (const int64_t terms : {96, 128, 608, 1024}) {
      const TestOrder order = with_uses(promoted(terms), terms, hopper, dtype, random);
      TestKernel kernel(order);
      const OrderReport report = found(kernel);
      EXPECT_EQ(report.state, State::trusted) << report.reason << ", " << to_string(report.order.arithmetic);
      EXPECT_EQ(report.order.arithmetic, hopper) << to_string(report.order.arithmetic);
      EXPECT_EQ(report.order.tree, compress(order.tree, order.uses)) << to_string(report.order.tree);
      EXPECT_EQ(report.accumulator, (oracle::Accumulator{32, 13, 13, terms > 128 ? 128 : 0}));
    }
    // Without promotion, and on a unit that normalises subnormal operands and keeps f32.
    NodeArithmetic blackwell{Kind::tensor_core, 25};
    TestKernel kernel(with_uses(groups(640, 32), 640, blackwell, dtype, random));
    const OrderReport report = found(kernel);
    EXPECT_EQ(report.state, State::trusted) << report.reason << ", " << to_string(report.order.arithmetic);
    EXPECT_EQ(report.accumulator, (oracle::Accumulator{32, 25, 23, 0}));
  }
}

TEST(Order, OtherOrdersAreNoDeclaredAccumulator) {
  const NodeArithmetic unit{Kind::tensor_core, 13, false, NodeArithmetic::Operands::kept, 13};
  const auto declared = [&](const RawTree& tree, int64_t terms) {
    const std::vector<ProductUse> uses(static_cast<size_t>(terms));
    return accumulator_of({compress(tree, uses), unit});
  };
  EXPECT_EQ(declared(groups(32, 32), 32), std::nullopt);  // the group may be larger
  EXPECT_EQ(declared(promoted(1024), 1024), (oracle::Accumulator{32, 13, 13, 128}));
  RawTree backwards = promoted(256);
  for (RawTree::Node& node : backwards.nodes) {
    for (int64_t& term : node.terms) term = 255 - term;
  }
  EXPECT_EQ(declared(backwards, 256), std::nullopt);
  EXPECT_EQ(accumulator_of({compress(groups(64, 32), std::vector<ProductUse>(64)), {}}), std::nullopt);
}

// As the last 10 of 23 fraction bits are dropped, by the arithmetic of f64.
float to_tf32(float x, NodeArithmetic::Operands how) {
  if (x == 0) return x;
  int exponent = 0;
  const double digits = std::ldexp(std::frexp(static_cast<double>(x), &exponent), 11);
  const double whole = how == NodeArithmetic::Operands::tf32_truncated ? std::trunc(digits)
                       : how == NodeArithmetic::Operands::tf32_nearest ? std::nearbyint(digits)
                                                                       : std::round(digits);
  return static_cast<float>(std::ldexp(whole, exponent - 11));
}

class Tf32Kernel : public TestKernel {
 public:
  Tf32Kernel(TestOrder order, NodeArithmetic::Operands how)
      : TestKernel(std::move(order), 16, 16), how_(how) {}
  bool may_use_tf32() const override { return true; }

 protected:
  double result(const float* a, const float* b, int64_t row, int64_t column) override {
    std::vector<float> x(a, a + terms()), y(b, b + terms());
    for (std::vector<float>* values : {&x, &y}) {
      for (float& value : *values) value = to_tf32(value, how_);
    }
    return TestKernel::result(x.data(), y.data(), row, column);
  }

 private:
  NodeArithmetic::Operands how_;
};

TEST(Order, OperandsOfTf32) {
  using Operands = NodeArithmetic::Operands;
  std::mt19937_64 random(6);
  for (const Operands how : {Operands::tf32_nearest, Operands::tf32_nearest_away, Operands::tf32_truncated}) {
    const NodeArithmetic arithmetic{Kind::tensor_core, 25, false, how};
    Tf32Kernel kernel(with_uses(groups(160, 8), 160, arithmetic, Dtype::f32, random), how);
    const OrderReport report = found(kernel);
    EXPECT_EQ(report.state, State::trusted) << report.reason << ", " << to_string(report.order.arithmetic);
    EXPECT_EQ(report.order.arithmetic, arithmetic) << to_string(report.order.arithmetic);
  }
}

// An addition of two terms in f32 and one that is cut off 13 bits below differ in few results, not always in
// those of the first products.
TEST(Order, ArithmeticThatFailsLateIsReplaced) {
  const TestOrder order{chains(2, 1, false), {{}, {}}, {Kind::tensor_core, 13}, Dtype::bf16};
  for (uint64_t seed = 1; seed <= 20; ++seed) {
    TestKernel kernel(order, 2, 3);
    const OrderReport report = find_order(kernel, {.products = 100, .seed = seed});
    EXPECT_EQ(report.state, State::trusted) << report.reason;
    EXPECT_EQ(report.order.arithmetic, order.arithmetic) << to_string(report.order.arithmetic);
    EXPECT_EQ(report.equal_products, 100);
    EXPECT_EQ(report.equal_elements, report.elements);
  }
}

TEST(Order, OneTerm) {
  TestKernel kernel({{{{{0}, {}}}, 0}, {ProductUse{}}, {}, Dtype::f32});
  const OrderReport report = found(kernel);
  EXPECT_EQ(report.state, State::trusted) << report.reason;
  EXPECT_EQ(to_string(report.order.tree), "a single term");
}

TestOrder chain_of(int64_t terms, Dtype dtype = Dtype::f32) {
  return {chains(terms, 1, false), std::vector<ProductUse>(static_cast<size_t>(terms)), {}, dtype};
}

// Adds the terms from the smallest to the largest left factor.
class SortingKernel : public TestKernel {
 public:
  using TestKernel::TestKernel;

 protected:
  double result(const float* a, const float* b, int64_t row, int64_t column) override {
    std::vector<std::pair<float, float>> factors;
    for (int64_t k = 0; k < terms(); ++k) factors.emplace_back(a[k], b[k]);
    std::stable_sort(factors.begin(), factors.end(),
                     [](const auto& x, const auto& y) { return std::fabs(x.first) < std::fabs(y.first); });
    std::vector<float> left, right;
    for (const auto& [x, y] : factors) left.push_back(x), right.push_back(y);
    return TestKernel::result(left.data(), right.data(), row, column);
  }
};

TEST(Order, AnOrderThatDependsOnTheDataIsNotTrusted) {
  for (const Dtype dtype : {Dtype::f32, Dtype::bf16}) {
    SortingKernel kernel(chain_of(32, dtype));
    const OrderReport report = found(kernel);
    EXPECT_NE(report.state, State::trusted);
    EXPECT_NE(report.reason, "");
  }
}

// Adds backwards in one place.
class UnevenKernel : public TestKernel {
 public:
  UnevenKernel(TestOrder order, int64_t row, int64_t column)
      : TestKernel(std::move(order)), row_(row), column_(column) {}

 protected:
  double result(const float* a, const float* b, int64_t row, int64_t column) override {
    if ((row_ >= 0 && row != row_) || (column_ >= 0 && column != column_))
      return TestKernel::result(a, b, row, column);
    const std::vector<float> left(std::reverse_iterator(a + terms()), std::reverse_iterator(a)),
        right(std::reverse_iterator(b + terms()), std::reverse_iterator(b));
    return TestKernel::result(left.data(), right.data(), row, column);
  }

 private:
  int64_t row_, column_;
};

TEST(Order, ATreeThatDependsOnThePlaceIsNotTrusted) {
  for (const auto& [row, column] : {std::pair<int64_t, int64_t>{0, -1}, {6, -1}, {-1, 2}, {3, 1}}) {
    UnevenKernel kernel(chain_of(32), row, column);
    const OrderReport report = found(kernel);
    EXPECT_EQ(report.state, State::no_tree) << row << ", " << column;
    EXPECT_EQ(report.reason, "the tree depends on the row, the column or the batch");
  }
}

// Right on probes, and on random data but for one element in many.
class AlmostKernel : public TestKernel {
 public:
  using TestKernel::TestKernel;

 protected:
  double result(const float* a, const float* b, int64_t row, int64_t column) override {
    const double y = TestKernel::result(a, b, row, column);
    const bool random = a[0] != std::floor(a[0]) && ++count_ % 101 == 0;
    return random ? static_cast<double>(std::nextafter(static_cast<float>(y), 100.0f)) : y;
  }

 private:
  int count_ = 0;
};

TEST(Order, OneUnequalElementIsEnough) {
  AlmostKernel kernel(chain_of(32));
  const OrderReport report = found(kernel);
  EXPECT_EQ(report.state, State::unequal);
  EXPECT_LT(report.equal_elements, report.elements);
  EXPECT_GT(report.equal_elements, report.elements * 9 / 10);
}

// Sums that nothing is lost from have no order that probes could show.
class ExactKernel : public TestKernel {
 public:
  using TestKernel::TestKernel;

 protected:
  double result(const float* a, const float* b, int64_t, int64_t) override {
    long double sum = 0;
    for (int64_t k = 0; k < terms(); ++k)
      sum += static_cast<long double>(a[k]) * static_cast<long double>(b[k]);
    return round_to(Dtype::f16, static_cast<double>(sum));
  }
};

TEST(Order, ExactSumsHaveNoTree) {
  ExactKernel kernel(chain_of(32, Dtype::f16));
  const OrderReport report = found(kernel);
  EXPECT_EQ(report.state, State::no_tree);
  EXPECT_THAT(report.reason, HasSubstr("units are not lost"));
}

TEST(Order, StopsWhenTold) {
  TestKernel kernel(chain_of(32));
  const OrderReport report = find_order(kernel, {}, [] { return true; });
  EXPECT_EQ(report.state, State::unequal);
  EXPECT_EQ(report.products, 0);
}

}  // namespace
}  // namespace fusesmith::fuzz

// Plans are run by a plain column-major GEMM on small integers, where every order of terms gives the same
// bits, and compared with backends/common/multiply.
#include "backends/cuda/emit/gemm_plan.h"

#include <gtest/gtest.h>

#include <cmath>

#include "backends/common/product.h"
#include "backends/common/strided.h"
#include "backends/cuda/kernels/index_space.h"
#include "graph/philox.h"

namespace fusesmith::backends {
namespace {

using Values = std::vector<float>;

Values lattice(int64_t count, uint64_t seed) {
  Values values(static_cast<size_t>(count));
  for (size_t i = 0; i < values.size(); ++i) values[i] = static_cast<float>(philox(seed, 0, i)[0] % 9) - 4;
  return values;
}

Values packed(const Values& from, const Packing& packing) {
  Shape sizes = packing.sizes, strides = packing.strides;
  merge_axes(sizes, {&strides, 1});
  EXPECT_LE(sizes.size(), size_t{kMaxAxes}) << "no kernel copies so many axes";
  Values to(static_cast<size_t>(element_count(packing.sizes)));
  int64_t reach = 0;
  for (size_t i = 0; i < packing.sizes.size(); ++i) reach += (packing.sizes[i] - 1) * packing.strides[i];
  EXPECT_LT(reach, static_cast<int64_t>(from.size()));
  copy_strided(from.data(), packing.sizes, packing.strides, to.data());
  return to;
}

// What cuBLAS asks of leading dimensions.
void check_leading_dimensions(const Gemm& gemm) {
  EXPECT_GE(gemm.first.ld, gemm.first.transposed ? gemm.k : gemm.m);
  EXPECT_GE(gemm.second.ld, gemm.second.transposed ? gemm.n : gemm.k);
  EXPECT_GE(gemm.out.ld, gemm.m);
  EXPECT_FALSE(gemm.out.transposed);
  EXPECT_GE(std::min({gemm.m, gemm.n, gemm.k}), 1);
}

void run(const Gemm& gemm, const Values& first, const Values& second, Values& out) {
  check_leading_dimensions(gemm);
  const auto offset = [](const Gemm::Operand& x, int64_t base, int batch, int row, int col) {
    if (x.transposed) std::swap(row, col);
    return static_cast<size_t>(base + batch * x.batch_stride + row + int64_t{col} * x.ld);
  };
  for (const Gemm::Call& call : gemm.calls) {
    ASSERT_GE(call.batch, 1);
    ASSERT_LE(call.batch, 65535);
    for (int batch = 0; batch < call.batch; ++batch) {
      for (int i = 0; i < gemm.m; ++i) {
        for (int j = 0; j < gemm.n; ++j) {
          float sum = 0;
          for (int l = 0; l < gemm.k; ++l) {
            sum += first.at(offset(gemm.first, call.first, batch, i, l)) *
                   second.at(offset(gemm.second, call.second, batch, l, j));
          }
          float& to = out.at(offset(gemm.out, call.out, batch, i, j));
          EXPECT_TRUE(std::isnan(to)) << "written twice";
          to = sum;
        }
      }
    }
  }
}

struct Operands {
  int64_t a, b, out;  // elements
};

// Runs the plan; returns it for a look at what it packs.
GemmPlan expect_right(const Product& product, const Operands& counts, const std::string& what) {
  const Values a = lattice(counts.a, 1), b = lattice(counts.b, 2);
  Values want(static_cast<size_t>(counts.out));
  multiply(product, a.data(), b.data(), want.data());

  GemmPlan plan = plan_gemm(product);
  const Values read_a = plan.pack_a ? packed(a, *plan.pack_a) : a,
               read_b = plan.pack_b ? packed(b, *plan.pack_b) : b;
  Values got(want.size(), std::nanf(""));
  run(plan.gemm, plan.swapped ? read_b : read_a, plan.swapped ? read_a : read_b, got);
  if (plan.unpack) got = packed(got, *plan.unpack);
  EXPECT_EQ(got, want) << what;
  return plan;
}

template <class T>
GemmPlan expect_right(const T& op, const Shape& a, const Shape& b) {
  const Types in = {{Dtype::f32, a}, {Dtype::f32, b}};
  const TensorType out = infer(op, in)->front();
  return expect_right(product_of(op, in, out),
                      {element_count(in[0]), element_count(in[1]), element_count(out)},
                      to_string(Op(op)) + " of " + to_string(in[0]) + " and " + to_string(in[1]));
}

// How many copies a plan makes.
int copies(const GemmPlan& plan) {
  return plan.pack_a.has_value() + plan.pack_b.has_value() + plan.unpack.has_value();
}

TEST(GemmPlan, MatmulsAreOneCallWithoutCopies) {
  for (const bool ta : {false, true}) {
    for (const bool tb : {false, true}) {
      for (const Shape& lead : {Shape{}, Shape{3}, Shape{2, 3}}) {
        Shape a = lead, b = lead;
        a.insert(a.end(), {ta ? 4 : 5, ta ? 5 : 4});
        b.insert(b.end(), {tb ? 6 : 4, tb ? 4 : 6});
        const GemmPlan plan = expect_right(Matmul{ta, tb}, a, b);
        EXPECT_EQ(copies(plan), 0);
        EXPECT_EQ(plan.gemm.calls.size(), 1u);
      }
    }
  }
}

TEST(GemmPlan, MatmulsBroadcast) {
  EXPECT_EQ(expect_right(Matmul{}, {2, 1, 3, 4}, {5, 4, 2}).gemm.calls.size(), 2u);
  const GemmPlan shared = expect_right(Matmul{}, {7, 3, 4}, {4, 2});  // one tall matrix
  EXPECT_EQ(shared.gemm.calls.size(), 1u);
  EXPECT_EQ(shared.gemm.calls[0].batch, 1);
  EXPECT_EQ(copies(expect_right(Matmul{}, {3, 4}, {7, 4, 2})), 0);
  EXPECT_EQ(copies(expect_right(Matmul{true, false}, {7, 4, 3}, {4, 2})), 0);
  // Too many calls: one operand is spread over the batch instead.
  const GemmPlan many = expect_right(Matmul{}, {6, 1, 3, 4}, {5, 4, 2});
  EXPECT_EQ(many.gemm.calls.size(), 1u);
  EXPECT_EQ(copies(expect_right(Matmul{}, {6, 1, 5, 3, 4}, {6, 5, 1, 4, 2})), 2);
}

TEST(GemmPlan, AxesOfOne) {
  for (int sizes = 0; sizes < 16; ++sizes) {
    const auto size = [&](int i) { return (sizes >> i & 1) ? 1 : i + 2; };
    const int64_t batch = size(0), m = size(1), n = size(2), k = size(3);
    for (const bool ta : {false, true}) {
      for (const bool tb : {false, true}) {
        const Shape a = {batch, ta ? k : m, ta ? m : k}, b = {batch, tb ? n : k, tb ? k : n};
        EXPECT_EQ(copies(expect_right(Matmul{ta, tb}, a, b)), 0);
      }
    }
    for (const char* equation :
         {"bmk,bkn->bmn", "bmk,knb->nmb", "kbm,nbk->mnb", "bkm,k->mb", "b,bmkn->kbnm"}) {
      const EinsumLabels labels = *parse_equation(equation);
      const auto shape = [&](const std::string& word) {
        Shape s;
        for (char c : word) s.push_back(c == 'b' ? batch : c == 'm' ? m : c == 'n' ? n : k);
        return s;
      };
      expect_right(Einsum{equation}, shape(labels.a), shape(labels.b));
    }
  }
}

TEST(GemmPlan, Linear) {
  EXPECT_EQ(copies(expect_right(Linear{}, {2, 3, 5}, {7, 5})), 0);
  EXPECT_EQ(copies(expect_right(Linear{}, {5}, {7, 5})), 0);
  EXPECT_EQ(copies(expect_right(Linear{}, {4, 1}, {1, 1})), 0);
}

// An operand whose heads stand between rows and columns is read in place.
TEST(GemmPlan, AttentionLayoutsAreReadInPlace) {
  const GemmPlan scores = expect_right(Einsum{"bthd,bshd->bhts"}, {2, 5, 3, 4}, {2, 6, 3, 4});
  EXPECT_EQ(copies(scores), 0);
  EXPECT_EQ(scores.gemm.calls.size(), 2u);
  const GemmPlan values = expect_right(Einsum{"bhts,bshd->bthd"}, {2, 3, 5, 6}, {2, 6, 3, 4});
  EXPECT_EQ(copies(values), 0);
  const GemmPlan many = expect_right(Einsum{"bthd,bshd->bhts"}, {6, 5, 7, 4}, {6, 6, 7, 4});
  EXPECT_EQ(many.gemm.calls.size(), 1u);
  EXPECT_EQ(copies(many), 2);  // the result lies well
}

TEST(GemmPlan, BatchesBeyondTheLimitAreSplit) {
  const GemmPlan plan = expect_right(Matmul{}, {140000, 1, 2}, {140000, 2, 1});
  ASSERT_EQ(plan.gemm.calls.size(), 3u);
  EXPECT_EQ(plan.gemm.calls[2].batch, 140000 - 2 * 65535);
}

TEST(GemmPlan, EinsumsWithOddAxes) {
  expect_right(Einsum{"ij,k->k"}, {3, 4}, {5});       // i and j summed over a alone
  expect_right(Einsum{"ai,bj->ab"}, {3, 4}, {5, 2});  // one axis alone in each
  expect_right(Einsum{"i,j->"}, {4}, {5});
  expect_right(Einsum{"i,i->"}, {40}, {40});
  expect_right(Einsum{",->"}, {}, {});
  expect_right(Einsum{"ij,->ji"}, {3, 4}, {});
  expect_right(Einsum{"ii,i->i"}, {4, 4}, {4});
  expect_right(Einsum{"ii,ij->j"}, {4, 4}, {4, 3});
  expect_right(Einsum{"iij,jkk->ik"}, {4, 4, 3}, {3, 5, 5});
  expect_right(Einsum{"ikd,jkd->ijd"}, {4, 5, 3}, {6, 5, 3});  // triangle multiplication
  expect_right(Einsum{"kid,kjd->ijd"}, {5, 4, 3}, {5, 6, 3});
}

// The reversed output keeps any two axes of the large operand from being merged, and the packed operand has
// one more axis than a tensor may have.
TEST(GemmPlan, EinsumsOfTheLargestRank) {
  const Shape twos(kMaxRank, 2);
  const GemmPlan plan = expect_right(Einsum{"abcdefgh,i->hgfedcba"}, twos, {3});
  ASSERT_TRUE(plan.pack_a);
  EXPECT_EQ(plan.pack_a->sizes.size(), size_t{kMaxAxes});
  expect_right(Einsum{"abcdefgh,hij->gfedcbai"}, twos, {2, 2, 3});
  expect_right(Einsum{"abcdefgh,ijklmnop->"}, twos, twos);
  expect_right(Einsum{"acegbdfh,hfdbijkl->lgcjeaki"}, twos, twos);
}

// Every kind of equation: letters drawn for operands and output, in any order, with repeats.
struct RandomEquations {
  uint32_t letters, longest, largest;  // how many letters, of an operand, and the largest size
  int trials;
};

void expect_right(const RandomEquations& kind) {
  uint64_t draws = 0;
  const auto below = [&](uint32_t n) { return philox(7, kind.letters, draws++)[0] % n; };
  for (int trial = 0; trial < kind.trials; ++trial) {
    std::vector<int64_t> sizes(kind.letters);
    for (int64_t& size : sizes) size = 1 + below(kind.largest);
    const auto word = [&] {
      std::string letters;
      for (uint32_t n = below(kind.longest + 1); letters.size() < n;)
        letters += static_cast<char>('a' + below(kind.letters));
      return letters;
    };
    const std::string a = word(), b = word();
    std::string out;
    for (char c = 'a'; c < static_cast<char>('a' + kind.letters); ++c) {
      if ((a + b).find(c) == std::string::npos || below(3) == 0 || out.size() == size_t{kMaxRank}) continue;
      out.insert(out.begin() + below(static_cast<uint32_t>(out.size()) + 1), c);
    }
    const auto shape = [&](const std::string& letters) {
      Shape s;
      for (char c : letters) s.push_back(sizes[static_cast<size_t>(c - 'a')]);
      return s;
    };
    expect_right(Einsum{a + "," + b + "->" + out}, shape(a), shape(b));
    if (testing::Test::HasFailure()) return;
  }
}

TEST(GemmPlan, RandomEinsums) { expect_right({6, 5, 4, 3000}); }
TEST(GemmPlan, RandomEinsumsOfHighRank) { expect_right({16, 8, 2, 3000}); }

}  // namespace
}  // namespace fusesmith::backends

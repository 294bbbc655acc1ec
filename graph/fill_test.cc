#include "graph/fill.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <map>

#include "graph/case.h"
#include "graph/json_fields.h"

namespace fusesmith::graph {
namespace {

using testing::HasSubstr;

Tensor make(const Fill& fill, Dtype dtype, int64_t size, std::string_view name = "x", int64_t step = 0,
            uint64_t seed = 1) {
  const TensorType type{dtype, {size}};
  EXPECT_FALSE(check_fill(fill, type));
  return materialize(fill, type, seed, name, step);
}

std::string bits(const Fill& fill, Dtype dtype) { return literal_of(make(fill, dtype, 5)).bits; }

FileData of_file(const char* bits, Dtype dtype) { return file_of(make(Literal{bits}, dtype, 5)); }

// Frozen: corpus files rely on these bits. A change here changes every case file's meaning.
struct Golden {
  Fill fill;
  Dtype dtype;
  const char* bits;
};
const Golden kGolden[] = {
    {Normal{}, Dtype::f32, "3fe661973ebf390dbf15ed0ebf3fe2113fac09d3"},
    {Normal{}, Dtype::f16, "3f3335fab8afb9ff3d60"},
    {Normal{}, Dtype::bf16, "3fe63ebfbf16bf403fac"},
    {Normal{0.5, 0.02}, Dtype::f32, "3f09371b3f01e9883efa00c23ef8531e3f06e1ac"},
    {Normal{0.5, 0.02}, Dtype::f16, "384a380f37d037c33837"},
    {Normal{0.5, 0.02}, Dtype::bf16, "3f093f023efa3ef83f07"},
    {Uniform{-1, 2}, Dtype::f32, "3f71cc8d3eaee1babf7fd2d23ea157303f14cb03"},
    {Uniform{-1, 2}, Dtype::f16, "3b8e3577bbff350b38a6"},
    {Uniform{-1, 2}, Dtype::bf16, "3f723eafbf803ea13f15"},
    {Lattice{}, Dtype::f32, "4080000040c00000c1000000bf800000bf800000"},
    {Lattice{}, Dtype::f16, "44004600c800bc00bc00"},
    {Lattice{}, Dtype::bf16, "408040c0c100bf80bf80"},
    {Lattice{5, -3}, Dtype::f32, "3e8000003f000000bf200000be000000be000000"},
    {Lattice{5, -3}, Dtype::f16, "34003800b900b000b000"},
    {Lattice{5, -3}, Dtype::bf16, "3e803f00bf20be00be00"},
    {Tokens{1000}, Dtype::i32, "000002d40000034e0000001b000001bf000001b8"},
    {Bernoulli{0.3}, Dtype::boolean, "0000010000"},
    {Special{0.5, false}, Dtype::f32, "3df214178000000080000000004000003f5b2856"},
    {Special{0.5, false}, Dtype::f16, "2f918000800002003ad9"},
    {Special{0.5, false}, Dtype::bf16, "3df28000800000403f5b"},
    {Special{0.9, true}, Dtype::f32, "004000008000000080000000008000007f800000"},
    {Special{0.9, true}, Dtype::f16, "02008000800004007c00"},
    {Special{0.9, true}, Dtype::bf16, "00408000800000807f80"},
    {Constant{0.1}, Dtype::f32, "3dcccccd3dcccccd3dcccccd3dcccccd3dcccccd"},
    {Constant{0.1}, Dtype::f16, "2e662e662e662e662e66"},
    {Constant{0.1}, Dtype::bf16, "3dcd3dcd3dcd3dcd3dcd"},
    {Constant{1}, Dtype::i32, "0000000100000001000000010000000100000001"},
    {Hadamard{2}, Dtype::f32, "4000000040000000400000004000000040000000"},
    {Hadamard{-1, 8, true}, Dtype::f16, "bc003c00bc003c003c00"},
    {Hadamard{4, 2}, Dtype::bf16, "40804080408040804080"},
    {Constant{1}, Dtype::boolean, "0101010101"},
    {OneHot{3, 1}, Dtype::f32, "0000000000000000000000003f80000000000000"},
    {OneHot{3, 1}, Dtype::f16, "0000000000003c000000"},
    {OneHot{3, 1}, Dtype::bf16, "0000000000003f800000"},
    {OneHot{3, 1}, Dtype::i32, "0000000000000000000000000000000100000000"},
    {OneHot{3, 1}, Dtype::boolean, "0000000100"},
    {Literal{"000000008000000000000001ff8000007f7fffff"}, Dtype::f32,
     "000000008000000000000001ff8000007f7fffff"},
    {Literal{"0000800000017c01fbff"}, Dtype::f16, "0000800000017c01fbff"},
    {Literal{"0000800000017f81ff7f"}, Dtype::bf16, "0000800000017f81ff7f"},
    {Literal{"0000000080000000ffffffff000000017fffffff"}, Dtype::i32,
     "0000000080000000ffffffff000000017fffffff"},
    {Literal{"0001000101"}, Dtype::boolean, "0001000101"},
    {of_file("000000008000000000000001ff8000007f7fffff", Dtype::f32), Dtype::f32,
     "000000008000000000000001ff8000007f7fffff"},
    {of_file("0000800000017c01fbff", Dtype::f16), Dtype::f16, "0000800000017c01fbff"},
    {of_file("0000800000017f81ff7f", Dtype::bf16), Dtype::bf16, "0000800000017f81ff7f"},
    {of_file("0000000080000000ffffffff000000017fffffff", Dtype::i32), Dtype::i32,
     "0000000080000000ffffffff000000017fffffff"},
    {of_file("0001000101", Dtype::boolean), Dtype::boolean, "0001000101"},
    {Normal{0, 2}, Dtype::f8e4m3, "4634b9bc43"},
    {Uniform{-3, 5}, Dtype::f8e4m3, "4131c4303a"},
    {Lattice{4, 0}, Dtype::f8e4m3, "4044c800b8"},
    {Hadamard{2}, Dtype::f8e4m3, "4040404040"},
    {Special{0.9, true}, Dtype::f8e4m3, "048080087f"},
    {Constant{1}, Dtype::f8e4m3, "3838383838"},
    {OneHot{3, 1}, Dtype::f8e4m3, "0000003800"},
    {Literal{"0001807fff"}, Dtype::f8e4m3, "0001807fff"},
    {of_file("0001807fff", Dtype::f8e4m3), Dtype::f8e4m3, "0001807fff"},
    {Normal{0, 2}, Dtype::f8e5m2, "433abdbe41"},
    {Uniform{-3, 5}, Dtype::f8e5m2, "4039c2383d"},
    {Lattice{4, 0}, Dtype::f8e5m2, "4042c400bc"},
    {Hadamard{2}, Dtype::f8e5m2, "4040404040"},
    {Special{0.9, true}, Dtype::f8e5m2, "028080047c"},
    {Constant{1}, Dtype::f8e5m2, "3c3c3c3c3c"},
    {OneHot{3, 1}, Dtype::f8e5m2, "0000003c00"},
    {Literal{"0001807fff"}, Dtype::f8e5m2, "0001807fff"},
    {of_file("0001807fff", Dtype::f8e5m2), Dtype::f8e5m2, "0001807fff"},
    {Normal{0, 2}, Dtype::f8e8m0, "817e000080"},
    {Uniform{-3, 5}, Dtype::f8e8m0, "807e007e7f"},
    {Lattice{4, 0}, Dtype::f8e8m0, "8081000000"},
    {Hadamard{2}, Dtype::f8e8m0, "8080808080"},
    {Special{0.9, true}, Dtype::f8e8m0, "00000000ff"},
    {Constant{1}, Dtype::f8e8m0, "7f7f7f7f7f"},
    {OneHot{3, 1}, Dtype::f8e8m0, "0000007f00"},
    {Literal{"0001807fff"}, Dtype::f8e8m0, "0001807fff"},
    {of_file("0001807fff", Dtype::f8e8m0), Dtype::f8e8m0, "0001807fff"},
    {Normal{0, 2}, Dtype::f4e2m1, "06010a0b05"},
    {Uniform{-3, 5}, Dtype::f4e2m1, "04010d0102"},
    {Lattice{4, 0}, Dtype::f4e2m1, "04050e000a"},
    {Hadamard{2}, Dtype::f4e2m1, "0404040404"},
    {Special{0.9, true}, Dtype::f4e2m1, "0108080207"},
    {Constant{1}, Dtype::f4e2m1, "0202020202"},
    {OneHot{3, 1}, Dtype::f4e2m1, "0000000200"},
    {Literal{"000108070f"}, Dtype::f4e2m1, "000108070f"},
    {of_file("000108070f", Dtype::f4e2m1), Dtype::f4e2m1, "000108070f"},
    {Normal{0, 2}, Dtype::s8, "0401ffff03"},
    {Uniform{-3, 5}, Dtype::s8, "0201fd0101"},
    {Lattice{4, 0}, Dtype::s8, "0203fc00ff"},
    {Hadamard{2}, Dtype::s8, "0202020202"},
    {Special{0.9, true}, Dtype::s8, "4000007f7f"},
    {Constant{1}, Dtype::s8, "0101010101"},
    {OneHot{3, 1}, Dtype::s8, "0000000100"},
    {Literal{"0001807fff"}, Dtype::s8, "0001807fff"},
    {of_file("0001807fff", Dtype::s8), Dtype::s8, "0001807fff"},
    {Normal{0, 2}, Dtype::s4, "04010f0f03"},
    {Uniform{-3, 5}, Dtype::s4, "02010d0101"},
    {Lattice{4, 0}, Dtype::s4, "02030c000f"},
    {Hadamard{2}, Dtype::s4, "0202020202"},
    {Special{0.9, true}, Dtype::s4, "0400000707"},
    {Constant{1}, Dtype::s4, "0101010101"},
    {OneHot{3, 1}, Dtype::s4, "0000000100"},
    {Literal{"000108070f"}, Dtype::s4, "000108070f"},
    {of_file("000108070f", Dtype::s4), Dtype::s4, "000108070f"},
};

TEST(Fill, GoldenBitsOfEveryRecipe) {
  std::map<std::string, int> covered;
  for (const Golden& golden : kGolden) {
    EXPECT_EQ(bits(golden.fill, golden.dtype), golden.bits) << name(golden.fill) << " " << name(golden.dtype);
    ++covered[std::string(name(golden.fill)) + " " + std::string(name(golden.dtype))];
  }
  for_each_alternative<Fill>([&]<class F>(std::type_identity<F>) {
    for (Dtype dtype : kDtypes) {
      const std::string pair = std::string(F::name) + " " + std::string(name(dtype));
      EXPECT_EQ(covered[pair] > 0, serves(Fill{F{}}, dtype))
          << pair << ": one golden line for each fill and dtype it serves";
    }
  });
}

TEST(Fill, LongTensorsContinueShortOnes) {
  // Groups of lanes are cut anywhere: element i never depends on how many follow.
  for (const int64_t size : {1, 15, 16, 17, 100}) {
    const Tensor whole = make(Normal{}, Dtype::bf16, 100), part = make(Normal{}, Dtype::bf16, size);
    EXPECT_TRUE(std::equal(part.bytes.begin(), part.bytes.end(), whole.bytes.begin())) << size;
  }
}

TEST(Fill, SeedNameAndStepAllMatter) {
  const Tensor base = make(Normal{}, Dtype::f32, 8);
  EXPECT_EQ(base, make(Normal{}, Dtype::f32, 8));
  EXPECT_NE(base, make(Normal{}, Dtype::f32, 8, "y"));
  EXPECT_NE(base, make(Normal{}, Dtype::f32, 8, "x", 1));
  EXPECT_NE(base, make(Normal{}, Dtype::f32, 8, "x", 0, 2));
  EXPECT_NE(base, make(Normal{}, Dtype::f32, 8, "x", 0, uint64_t{1} << 63));
}

TEST(Fill, OtherTensorsStayWhenOneIsDeleted) {
  const auto data_of_b = [](bool with_a) {
    Builder b;
    if (with_a) b.input("a", {Dtype::f32, {3}}, Normal{});
    b.output(b.node(Relu{}, {b.input("b", {Dtype::f32, {8}}, Normal{})}));
    Case test_case;
    test_case.seed = 5;
    test_case.graph = *b.build();
    return make_inputs(test_case).back();
  };
  EXPECT_EQ(data_of_b(true), data_of_b(false));
}

TEST(Fill, NormalHasItsMoments) {
  const int64_t n = 200000;
  double sum = 0, squares = 0, fourth = 0, largest = 0;
  for (const double x : to_f64(make(Normal{2, 3}, Dtype::f32, n))) {
    const double z = (x - 2) / 3;
    sum += z;
    squares += z * z;
    fourth += z * z * z * z;
    largest = std::max(largest, std::fabs(z));
  }
  const double count = static_cast<double>(n);
  EXPECT_NEAR(sum / count, 0, 5 / std::sqrt(count));
  EXPECT_NEAR(squares / count, 1, 5 * std::sqrt(2 / count));
  EXPECT_NEAR(fourth / count, 3 - 1.2 / 8, 0.06);  // a sum of eight uniforms
  EXPECT_GT(largest, 3.5);
  EXPECT_LT(largest, 4.9);
}

TEST(Fill, UniformStaysInItsRange) {
  double sum = 0, lo = 1e9, hi = -1e9;
  for (const double x : to_f64(make(Uniform{-1, 3}, Dtype::f32, 100000))) {
    sum += x;
    lo = std::min(lo, x);
    hi = std::max(hi, x);
  }
  EXPECT_NEAR(sum / 100000, 1, 0.02);
  EXPECT_GE(lo, -1);
  EXPECT_LT(lo, -0.99);
  EXPECT_LE(hi, 3);
  EXPECT_GT(hi, 2.99);
}

TEST(Fill, LatticeIsExactInEveryFloatDtype) {
  for (Dtype dtype : kFloatDtypes) {
    std::map<double, int> counts;
    for (const double x : to_f64(make(Lattice{3, -2}, dtype, 7000))) ++counts[x * 4];
    ASSERT_EQ(counts.size(), 7u);
    for (const auto& [k, count] : counts) {
      EXPECT_EQ(k, std::round(k));
      EXPECT_NEAR(count, 1000, 200);
    }
  }
}

// With any number of leading axes; rows that differ below the matrix's size are orthogonal.
TEST(Fill, HadamardRowsAreOrthogonal) {
  const int64_t n = 16;
  for (const bool drawn : {false, true}) {
    const TensorType type{Dtype::bf16, {2, 24, n}};
    const auto x = to_f64(materialize(Hadamard{4, 12, drawn}, type, 3, "k", 0));
    int64_t equal = 0, orthogonal = 0;
    for (int64_t a = 0; a < 48; ++a) {
      for (int64_t b = 0; b < 48; ++b) {
        double product = 0;
        for (int64_t j = 0; j < n; ++j)
          product += x[static_cast<size_t>(a * n + j)] * x[static_cast<size_t>(b * n + j)];
        if (!drawn) {
          EXPECT_EQ(product != 0, a % 24 % 12 == b % 24 % 12) << a << " " << b;
        }
        equal += product == 256;
        orthogonal += product == 0;
      }
    }
    EXPECT_EQ(equal + orthogonal, 48 * 48);
    EXPECT_GE(equal, 48 * 4);
    EXPECT_GT(orthogonal, 1500);
  }
}

TEST(Fill, TokensAndBernoulli) {
  std::map<double, int> tokens;
  for (const double x : to_f64(make(Tokens{5}, Dtype::i32, 5000))) ++tokens[x];
  EXPECT_EQ(tokens.size(), 5u);
  EXPECT_EQ(tokens.begin()->first, 0);
  EXPECT_EQ(tokens.rbegin()->first, 4);
  double trues = 0;
  for (const double x : to_f64(make(Bernoulli{0.25}, Dtype::boolean, 10000))) trues += x;
  EXPECT_NEAR(trues, 2500, 250);
}

TEST(Fill, SpecialHasWhatItPromises) {
  for (Dtype dtype : kFloatDtypes) {
    int nans = 0, infinities = 0, negative_zeros = 0, subnormals = 0;
    for (const double x : to_f64(make(Special{0.5, true}, dtype, 2000))) {
      nans += std::isnan(x);
      infinities += std::isinf(x);
      negative_zeros += x == 0 && std::signbit(x);
      subnormals += x != 0 && std::fabs(x) < std::ldexp(1.0, min_exponent(dtype));
    }
    for (const int count : {nans, infinities, negative_zeros, subnormals})
      EXPECT_GT(count, 30) << name(dtype);
    for (const double x : to_f64(make(Special{1, false}, dtype, 2000))) ASSERT_TRUE(std::isfinite(x));
  }
}

TEST(Fill, LiteralsKeepEveryBit) {
  for (Dtype dtype : kDtypes) {
    const Fill fill = is_float(dtype) ? Fill{Special{0.9, true}} : Fill{OneHot{3, 1}};
    const Tensor tensor = make(fill, dtype, 40);
    EXPECT_EQ(make(literal_of(tensor), dtype, 40), tensor) << name(dtype);
  }
  EXPECT_EQ(make(Literal{"3f800000"}, Dtype::f32, 1).value(0), 1);
  EXPECT_EQ(make(Literal{"3f80c000"}, Dtype::bf16, 2).value(1), -2);
}

TEST(Fill, IntegerRangesAreThoseOfTheData) {
  const TensorType type{Dtype::i32, {50}};
  for (const Fill& fill : {Fill{Tokens{7}}, Fill{Constant{4}}, Fill{OneHot{2, 1}},
                           Fill{literal_of(make(Tokens{7}, Dtype::i32, 50))}}) {
    const IntegerRange range = integer_range(fill, type);
    for (const double x : to_f64(materialize(fill, type, 3, "t", 0))) {
      EXPECT_GE(x, static_cast<double>(range.lo)) << name(fill);
      EXPECT_LE(x, static_cast<double>(range.hi)) << name(fill);
    }
  }
}

std::string problem_of(const Fill& fill, const std::string& type) {
  const auto problem = check_fill(fill, *parse_tensor_type(type));
  return problem ? problem->what : "";
}

TEST(Fill, RefusesWhatItCannotMake) {
  EXPECT_THAT(problem_of(Normal{}, "i32[2]"), HasSubstr("expected a fill that makes i32[2], got normal"));
  EXPECT_THAT(problem_of(Tokens{2}, "f32[2]"), HasSubstr("got tokens"));
  EXPECT_THAT(problem_of(Bernoulli{}, "f32[2]"), HasSubstr("got bernoulli"));
  EXPECT_THAT(problem_of(Normal{0, -1}, "f32[2]"), HasSubstr("expected stddev between 0 and 1e+06, got -1"));
  EXPECT_THAT(problem_of(Normal{NAN, 1}, "f32[2]"), HasSubstr("mean"));
  EXPECT_THAT(problem_of(Uniform{2, 1}, "f32[2]"), HasSubstr("expected lo at most hi, got 2 and 1"));
  EXPECT_THAT(problem_of(Tokens{0}, "i32[2]"), HasSubstr("count"));
  EXPECT_THAT(problem_of(Constant{0.5}, "i32[2]"), HasSubstr("whole value"));
  EXPECT_THAT(problem_of(Constant{2}, "bool[2]"), HasSubstr("between 0 and 1"));
  EXPECT_THAT(problem_of(Constant{NAN}, "i32[2]"), HasSubstr("whole value"));
  EXPECT_THAT(problem_of(OneHot{2, 1}, "f32[2]"), HasSubstr("index below 2"));
  EXPECT_THAT(problem_of(OneHot{0, 3}, "bool[2]"), HasSubstr("value 1"));
  EXPECT_THAT(problem_of(Literal{"00"}, "f32[2]"), HasSubstr("16 hexadecimal digits for f32[2], got 2"));
  EXPECT_THAT(problem_of(Literal{"0000000G"}, "f32[1]"), HasSubstr("lower-case hexadecimal digits, got 'G'"));
  EXPECT_THAT(problem_of(Literal{"02"}, "bool[1]"), HasSubstr("00 or 01"));
  EXPECT_THAT(problem_of(Literal{"10"}, "bool[1]"), HasSubstr("00 or 01"));
  EXPECT_EQ(problem_of(Constant{-INFINITY}, "f16[2]"), "");
}

}  // namespace
}  // namespace fusesmith::graph

#include "graph/tensor.h"

#include <gtest/gtest.h>

#include <cmath>
#include <limits>

namespace fusesmith::graph {
namespace {

TEST(TensorType, PrintingParsesBack) {
  for (const char* text : {"f32[]", "f16[1]", "bf16[4,16,256]", "i32[134217728]", "bool[0]"}) {
    const auto type = parse_tensor_type(text);
    ASSERT_TRUE(type) << text;
    EXPECT_EQ(to_string(*type), text);
  }
}

TEST(TensorType, ParsingAcceptsNothingElse) {
  for (const char* text : {"",
                           "f32",
                           "[1]",
                           "f32[",
                           "f32]",
                           "f32[1",
                           "f32[1,]",
                           "f32[,1]",
                           "f32[1,,2]",
                           "f32[-1]",
                           "f32[+1]",
                           "f32[01]",
                           "f32[ 1]",
                           "f32[1] ",
                           "f64[1]",
                           "f32[1]]",
                           "f32[[1]",
                           "f32[1.0]",
                           "f32[99999999999999999999]",
                           "f32[0x10]"}) {
    EXPECT_FALSE(parse_tensor_type(text)) << text;
  }
}

TEST(Shape, CountsSaturate) {
  EXPECT_EQ(element_count(Shape{}), 1);
  EXPECT_EQ(element_count(Shape{2, 3, 4}), 24);
  EXPECT_EQ(element_count(Shape{5, 0}), 0);
  EXPECT_EQ(element_count(Shape{kMaxElements}), kMaxElements);
  const int64_t huge = std::numeric_limits<int64_t>::max();
  for (const Shape& shape : {Shape{kMaxElements, 2}, Shape{huge, huge}, Shape{3, huge},
                             Shape{int64_t{1} << 32, int64_t{1} << 32}, Shape{-1}}) {
    EXPECT_EQ(element_count(shape), kMaxElements + 1) << to_string(shape);
  }
}

TEST(Shape, Strides) {
  EXPECT_EQ(strides_of({2, 3, 4}), (Shape{12, 4, 1}));
  EXPECT_EQ(strides_of({}), Shape{});
  EXPECT_EQ(broadcast_strides({3, 1}, {2, 3, 4}), (Shape{0, 1, 0}));
  EXPECT_EQ(broadcast_strides({}, {2, 3}), (Shape{0, 0}));
}

TEST(Shape, Broadcasts) {
  EXPECT_EQ(broadcast({3, 1}, {2, 1, 4}), (Shape{2, 3, 4}));
  EXPECT_EQ(broadcast({}, {2}), (Shape{2}));
  EXPECT_FALSE(broadcast({3}, {2}));
}

TEST(Tensor, SetRoundsOnceAndValueReadsBack) {
  for (Dtype dtype : kFloatDtypes) {
    Tensor tensor(TensorType{dtype, {5}});
    const double values[] = {-0.0, 1 + 1.5 * unit_roundoff(dtype), 1e300, -INFINITY,
                             std::ldexp(1.0, min_exponent(dtype) - 1)};
    for (int i = 0; i < 5; ++i) {
      tensor.set(i, values[i]);
      EXPECT_EQ(tensor.value(i), round_to(dtype, values[i])) << name(dtype) << " " << values[i];
      EXPECT_EQ(to_f64(tensor)[static_cast<size_t>(i)], tensor.value(i));
      EXPECT_EQ(static_cast<double>(to_f32(tensor)[static_cast<size_t>(i)]), tensor.value(i));
    }
    EXPECT_TRUE(std::signbit(tensor.value(0)));
    tensor.set(0, NAN);
    EXPECT_TRUE(std::isnan(tensor.value(0)));
    EXPECT_EQ(tensor.size(), 5);
  }
}

TEST(Tensor, IntegersAndBools) {
  Tensor ints(TensorType{Dtype::i32, {2}});
  ints.set(1, -2147483648.0);
  EXPECT_EQ(to_f64(ints), (std::vector<double>{0, -2147483648.0}));
  Tensor flags(TensorType{Dtype::boolean, {2}});
  flags.set(1, 1);
  EXPECT_EQ(to_f64(flags), (std::vector<double>{0, 1}));
  EXPECT_EQ(flags.bytes.size(), 2u);
}

TEST(Tensor, FromF32UndoesToF32) {
  for (Dtype dtype : kDtypes) {
    Tensor tensor(TensorType{dtype, {2, 2}});
    for (int i = 0; i < 4; ++i) tensor.set(i, i % 2);
    EXPECT_EQ(from_f32(to_f32(tensor), tensor.type), tensor) << name(dtype);
  }
}

}  // namespace
}  // namespace fusesmith::graph

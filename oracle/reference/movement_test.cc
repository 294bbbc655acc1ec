// Movement and source ops against indices worked out one coordinate at a time, for random shapes; bounds
// travel with their elements.
#include <gtest/gtest.h>

#include "oracle/test_support.h"

namespace fusesmith::oracle {
namespace {

using namespace testing_support;

Shape coordinates(int64_t flat, const Shape& shape) {
  Shape at(shape.size());
  for (size_t d = shape.size(); d-- > 0;) at[d] = flat % shape[d], flat /= shape[d];
  return at;
}

int64_t flat_index(const Shape& at, const Shape& shape) {
  int64_t flat = 0;
  for (size_t d = 0; d < shape.size(); ++d) flat = flat * shape[d] + at[d];
  return flat;
}

Shape random_shape(Rng& rng, int64_t rank) {
  Shape shape;
  for (int64_t d = 0; d < rank; ++d) shape.push_back(1 + rng.below(4));
  return shape;
}

// A tensor whose element i has value i, exact or with error i / 1000.
Bounded numbered(const Shape& shape, bool exact) {
  const Bounded x(make_tensor({Dtype::f32, shape}, [](int64_t i) { return static_cast<double>(i); }));
  return exact ? x : with_error(x, [](size_t i) { return static_cast<double>(i) / 1000; });
}

// Checks that element `at` of the output is the input element source(at).
template <class Source>
void expect_moved(const Op& op, const std::vector<Bounded>& inputs, Source source) {
  const Bounded y = evaluate_op(op, inputs);
  ASSERT_FALSE(computes(op));
  ASSERT_EQ(y.v.size(), static_cast<size_t>(element_count(y.type)));
  for (size_t i = 0; i < y.v.size(); ++i) {
    const auto from = static_cast<size_t>(source(coordinates(static_cast<int64_t>(i), y.type.shape)));
    ASSERT_EQ(y.v[i], inputs[0].v[from]) << to_string(op);
    ASSERT_EQ(y.error(i), inputs[0].error(from)) << to_string(op);
  }
}

TEST(Movement, AgreesWithCoordinates) {
  Rng rng(1);
  for (int trial = 0; trial < 200; ++trial) {
    const int64_t rank = 1 + rng.below(4);
    const Shape shape = random_shape(rng, rank);
    const Bounded x = numbered(shape, trial % 2 == 0);
    Shape dims(shape.size());
    std::iota(dims.begin(), dims.end(), 0);
    for (size_t d = dims.size(); d-- > 1;)
      std::swap(dims[d], dims[static_cast<size_t>(rng.below(static_cast<int64_t>(d) + 1))]);
    expect_moved(Permute{dims}, {x}, [&](const Shape& at) {
      Shape from(at.size());
      for (size_t d = 0; d < at.size(); ++d) from[static_cast<size_t>(dims[d])] = at[d];
      return flat_index(from, shape);
    });

    const auto axis = static_cast<size_t>(rng.below(rank));
    const int64_t start = rng.below(shape[axis]), stop = start + 1 + rng.below(shape[axis] - start),
                  step = 1 + rng.below(3);
    const int64_t written = rng.below(2) ? static_cast<int64_t>(axis) : static_cast<int64_t>(axis) - rank;
    expect_moved(Slice{written, start, stop, step}, {x}, [&](Shape at) {
      at[axis] = start + at[axis] * step;
      return flat_index(at, shape);
    });

    Shape wide = random_shape(rng, rng.below(3));
    const size_t added = wide.size();
    for (int64_t dim : shape) wide.push_back(dim == 1 ? 1 + rng.below(4) : dim);
    expect_moved(BroadcastTo{wide}, {x}, [&](const Shape& at) {
      Shape from(at.begin() + static_cast<std::ptrdiff_t>(added), at.end());
      for (size_t d = 0; d < from.size(); ++d) from[d] = shape[d] == 1 ? 0 : from[d];
      return flat_index(from, shape);
    });

    const int64_t new_axis = rng.below(rank + 1);
    Shape unsqueezed = shape;
    unsqueezed.insert(unsqueezed.begin() + new_axis, 1);
    const auto same = [&](const Shape& out) {
      return [out](const Shape& at) { return flat_index(at, out); };
    };
    expect_moved(Unsqueeze{new_axis}, {x}, same(unsqueezed));
    expect_moved(Squeeze{new_axis}, {evaluate_op(Unsqueeze{new_axis}, {x})}, same(shape));
    expect_moved(Reshape{{element_count(shape)}}, {x}, same({element_count(shape)}));
    expect_moved(Dropout{}, {x}, same(shape));
  }
}

TEST(Movement, GatherTakesRows) {
  Rng rng(2);
  for (const Shape& table_shape : {Shape{6}, Shape{6, 3}, Shape{6, 2, 2}}) {
    for (const Shape& index_shape : {Shape{}, Shape{4}, Shape{2, 3}}) {
      const Tensor indices =
          make_tensor({Dtype::i32, index_shape}, [&](int64_t) { return static_cast<double>(rng.below(6)); });
      const int64_t width = element_count(table_shape) / 6;
      const size_t lead = index_shape.size();
      for (bool exact : {false, true}) {
        expect_moved(Gather{}, {numbered(table_shape, exact), Bounded(indices)}, [&](const Shape& at) {
          const Shape where(at.begin(), at.begin() + static_cast<std::ptrdiff_t>(lead)),
              rest(at.begin() + static_cast<std::ptrdiff_t>(lead), at.end());
          const auto row = static_cast<int64_t>(indices.value(flat_index(where, index_shape)));
          return row * width + flat_index(rest, Shape(table_shape.begin() + 1, table_shape.end()));
        });
      }
    }
  }
}

TEST(Movement, Sources) {
  const Bounded counted = evaluate_op(Arange{4, 10, 3}, {});
  EXPECT_EQ(counted.v, (std::vector<double>{10, 13, 16, 19}));
  const Bounded top = evaluate_op(CausalMask{2, 3, CausalAlignment::top_left}, {});
  EXPECT_EQ(top.v, (std::vector<double>{0, 1, 1, 0, 0, 1}));
  const Bounded bottom = evaluate_op(CausalMask{2, 3, CausalAlignment::bottom_right}, {});
  EXPECT_EQ(bottom.v, (std::vector<double>{0, 0, 1, 0, 0, 0}));
  const Bounded tall = evaluate_op(CausalMask{3, 2, CausalAlignment::bottom_right}, {});
  EXPECT_EQ(tall.v, (std::vector<double>{1, 1, 0, 1, 0, 0}));
}

TEST(CausalMask, WindowHidesTheFarPast) {
  const auto mask = [](CausalAlignment alignment, int64_t window, bool shows_future) {
    return evaluate_op(CausalMask{3, 4, alignment, window, shows_future}, {}).v;
  };
  using Visibility = std::vector<double>;
  EXPECT_EQ(mask(CausalAlignment::top_left, 2, false), (Visibility{0, 1, 1, 1, 0, 0, 1, 1, 1, 0, 0, 1}));
  EXPECT_EQ(mask(CausalAlignment::bottom_right, 1, false), (Visibility{1, 0, 1, 1, 1, 1, 0, 1, 1, 1, 1, 0}));
  EXPECT_EQ(mask(CausalAlignment::bottom_right, 1, true), (Visibility{1, 0, 0, 0, 1, 1, 0, 0, 1, 1, 1, 0}));
  EXPECT_EQ(mask(CausalAlignment::top_left, 4, true), Visibility(12, 0));
}

// A backend may have computed indices wrongly: nothing outside the table is read or written.
TEST(Gather, KnowsNothingOfIndicesOutOfRange) {
  const Bounded table(make_tensor({Dtype::f32, {3, 2}}, [](int64_t i) { return static_cast<double>(i); }));
  const Bounded indices(make_tensor({Dtype::i32, {3}}, std::vector<double>{1, 1 << 30, -5}));
  const Bounded y = evaluate_op(Gather{}, {table, indices});
  EXPECT_EQ(y.v[0], 2);
  EXPECT_EQ(y.error(0), 0);
  for (size_t i = 2; i < 6; ++i) EXPECT_EQ(y.error(i), kInf);
  const Bounded x(make_tensor({Dtype::f32, {3}}, std::vector<double>{1, 2, 3}));
  const Bounded source(make_tensor({Dtype::f32, {2}}, std::vector<double>{7, 8}));
  const Bounded places(make_tensor({Dtype::i32, {2}}, std::vector<double>{2, 9}));
  EXPECT_EQ(evaluate_op(IndexCopy{0}, {x, places, source}).v, (std::vector<double>{1, 2, 7}));
}

}  // namespace
}  // namespace fusesmith::oracle

// A view finds every element where the movement ops put it: against indices moved one by one.
#include "backends/rewrite/matching/strided_view.h"

#include <gtest/gtest.h>

#include <numeric>

#include "graph/philox.h"

namespace fusesmith::backends {
namespace {

using Places = std::vector<int64_t>;  // by element of a value in row-major order, where it comes from

// The places of x[...] read at `steps`, over `sizes`.
Places strided(const Places& x, const Shape& sizes, const Shape& steps) {
  Places result{0};
  for (size_t i = 0; i < sizes.size(); ++i) {
    Places next;
    for (int64_t start : result) {
      for (int64_t k = 0; k < sizes[i]; ++k) next.push_back(start + k * steps[i]);
    }
    result = std::move(next);
  }
  for (int64_t& place : result) place = x[static_cast<size_t>(place)];
  return result;
}

Places moved_one_by_one(const Places& x, const Op& op, const Shape& in) {
  if (const auto* permute = std::get_if<Permute>(&op)) {
    Shape sizes, steps;
    for (int64_t dim : permute->dims) {
      sizes.push_back(in[static_cast<size_t>(dim)]);
      steps.push_back(strides_of(in)[static_cast<size_t>(dim)]);
    }
    return strided(x, sizes, steps);
  }
  if (const auto* broadcast = std::get_if<BroadcastTo>(&op))
    return strided(x, broadcast->shape, broadcast_strides(in, broadcast->shape));
  return x;
}

Places places_of(const StridedAxes& axes) {
  Shape sizes, steps;
  int64_t reach = 1;
  for (const StridedAxis& axis : axes) {
    sizes.push_back(axis.size);
    steps.push_back(axis.stride);
    reach += (axis.size - 1) * axis.stride;
  }
  Places all(static_cast<size_t>(reach));
  std::iota(all.begin(), all.end(), 0);
  return strided(all, sizes, steps);
}

class Draw {
 public:
  explicit Draw(uint64_t seed) : seed_(seed) {}
  int64_t below(int64_t n) { return static_cast<int64_t>(philox(seed_, 0, counter_++)[0]) % n; }

 private:
  uint64_t seed_, counter_ = 0;
};

// The factors of 2 and 3 in `count`, dealt to so many axes.
Shape random_shape(Draw& draw, int64_t count) {
  Shape shape(static_cast<size_t>(1 + draw.below(4)), 1);
  for (int64_t factor : {2, 3}) {
    for (; count % factor == 0; count /= factor)
      shape[static_cast<size_t>(draw.below(static_cast<int64_t>(shape.size())))] *= factor;
  }
  shape.back() *= count;
  return shape;
}

Op random_op(Draw& draw, const Shape& in) {
  if (draw.below(2) == 0) {
    Permute op;
    for (size_t i = 0; i < in.size(); ++i) op.dims.push_back(static_cast<int64_t>(i));
    for (size_t i = in.size(); i > 1; --i)
      std::swap(op.dims[i - 1], op.dims[static_cast<size_t>(draw.below(static_cast<int64_t>(i)))]);
    return op;
  }
  if (draw.below(4) == 0) {
    Shape shape = in;
    for (int64_t& size : shape) size = size == 1 ? 2 : size;
    if (draw.below(2) == 0) shape.insert(shape.begin(), 3);
    return BroadcastTo{shape};
  }
  return Reshape{random_shape(draw, element_count(in))};
}

TEST(StridedView, FindsEveryElementOfRandomMoves) {
  int followed = 0, refused = 0;
  for (uint64_t seed = 0; seed < 500; ++seed) {
    SCOPED_TRACE(seed);
    Draw draw(seed);
    Shape shape = random_shape(draw, 72);
    StridedView view = StridedView::dense(shape);
    Places places(72);
    std::iota(places.begin(), places.end(), 0);
    for (int i = 0; i < 4; ++i) {
      const Op op = random_op(draw, shape);
      const auto next = moved(view, op, shape);
      if (!next) {
        ++refused;
        break;
      }
      places = moved_one_by_one(places, op, shape);
      const TensorType before{Dtype::f32, shape};
      shape = infer(op, {&before, 1})->front().shape;
      view = *next;
      ASSERT_EQ(places_of(view.axes), places) << to_string(op);
      ++followed;
    }
  }
  EXPECT_GT(followed, 1000);
  EXPECT_GT(refused, 20);
}

TEST(StridedView, JoinsWhatLiesTogether) {
  EXPECT_EQ(StridedView::dense({2, 3, 4}).axes, (StridedAxes{{24, 1}}));
  EXPECT_TRUE(StridedView::dense({1, 1}).axes.empty());
  const auto swapped = moved(StridedView::dense({2, 3, 4}), Permute{{1, 0, 2}}, {2, 3, 4});
  EXPECT_EQ(swapped->axes, (StridedAxes{{3, 4}, {2, 12}, {4, 1}}));
  EXPECT_EQ(moved(*swapped, Permute{{1, 0, 2}}, {3, 2, 4}), StridedView::dense({2, 3, 4}));
}

// Rows of a [3, 2] matrix that was transposed, three at a time: they go round the columns unevenly.
TEST(StridedView, RefusesWalksThatNoAxesDescribe) {
  const auto transposed = moved(StridedView::dense({2, 3}), Permute{{1, 0}}, {2, 3});
  EXPECT_EQ(transposed->walk(2, 3), std::nullopt);
  EXPECT_EQ(transposed->walk(6, 1), (StridedAxes{{3, 1}, {2, 3}}));
}

TEST(StridedView, InverseUndoesAPermute) { EXPECT_EQ(inverse_dims({2, 0, 1, 3}), (Shape{1, 2, 0, 3})); }

}  // namespace
}  // namespace fusesmith::backends

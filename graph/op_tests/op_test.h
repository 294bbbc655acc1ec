// For tests: data for each op, and its definition. Each file of this folder has for the ops of a family:
//
// - cases: attributes and input types, over shapes with broadcasting, axes of size 1, transposes and scalars;
// - exact: data for which all correct executions give the same bits, in any order, tiling or fusion. The
//   reference must give the bound 0 for every element, and every backend must give exactly these bits;
// - special: the results for NaN, infinities, subnormals, huge values and zeros of both signs. There is one
//   result for each, for the reference and for every backend;
// - eval: the op in f64, element by element from its definition, without rounding and without code of the
//   kernels.
//
// op_tests_test.cc names every op that lacks one of them.
#pragma once

#include <algorithm>
#include <cmath>
#include <functional>
#include <limits>
#include <map>
#include <numeric>

#include "graph/graph.h"

namespace fusesmith::graph::op_tests {

struct OpCase {
  Op op;
  Types inputs;  // f32 stands for the float dtype under test
};

inline TensorType f(Shape shape) { return {Dtype::f32, std::move(shape)}; }
inline TensorType mask(Shape shape) { return {Dtype::boolean, std::move(shape)}; }
inline TensorType indices(Shape shape) { return {Dtype::i32, std::move(shape)}; }

struct ExactInput {
  Shape shape;
  Fill fill;
  Dtype dtype = Dtype::f32;  // f32 stands for the float dtype under test
};

struct ExactCase {
  Op op;
  std::vector<ExactInput> inputs;
  bool two_pass = false;  // only for variances in two passes: a running mean rounds on these rows
};

struct SpecialInput {
  Shape shape;
  std::vector<double> values;
  Dtype dtype = Dtype::f32;  // f32 stands for the float dtype under test
};

struct SpecialCase {
  Op op;
  std::vector<SpecialInput> inputs;
  std::vector<std::vector<double>> want;  // of each output, before it is rounded to its dtype
};

// Values of special cases.
inline constexpr double inf = std::numeric_limits<double>::infinity();
inline constexpr double nan = std::numeric_limits<double>::quiet_NaN();
inline double smallest_subnormal(Dtype dtype) {
  return std::ldexp(1.0, min_exponent(dtype) - precision(dtype) + 1);
}

using Row = std::vector<double>;
inline SpecialInput row(const Row& values) { return {{static_cast<int64_t>(values.size())}, values}; }
inline SpecialCase unary(const Op& op, const Row& x, const Row& y) { return {op, {row(x)}, {y}}; }
inline SpecialCase binary(const Op& op, const Row& a, const Row& b, const Row& y) {
  return {op, {row(a), row(b)}, {y}};
}

// Parts of definitions.

using Index = std::vector<int64_t>;
struct Values {  // row-major
  Shape shape;
  std::vector<double> data;

  size_t offset(const Index& index) const {
    size_t at = 0;
    for (size_t i = 0; i < shape.size(); ++i)
      at = at * static_cast<size_t>(shape[i]) + static_cast<size_t>(index[i]);
    return at;
  }
  double at(const Index& index) const { return data[offset(index)]; }
  // Read as if broadcast to a shape of which `index` is an index.
  double broadcast_at(const Index& index) const {
    Index own(index.end() - static_cast<std::ptrdiff_t>(shape.size()), index.end());
    for (size_t i = 0; i < own.size(); ++i) own[i] = shape[i] == 1 ? 0 : own[i];
    return at(own);
  }
};
using Args = std::vector<Values>;

inline void for_each_index(const Shape& shape, const std::function<void(const Index&)>& f) {
  Index index(shape.size(), 0);
  int64_t count = 1;
  for (int64_t dim : shape) count *= dim;
  for (int64_t i = 0; i < count; ++i) {
    int64_t rest = i;
    for (size_t axis = shape.size(); axis-- > 0; rest /= shape[axis]) index[axis] = rest % shape[axis];
    f(index);
  }
}

inline Values generate(const Shape& shape, const std::function<double(const Index&)>& f) {
  Values values{shape, {}};
  for_each_index(shape, [&](const Index& index) { values.data.push_back(f(index)); });
  return values;
}

inline size_t axis_of(int64_t axis, size_t rank) {
  return static_cast<size_t>(axis < 0 ? axis + static_cast<int64_t>(rank) : axis);
}

}  // namespace fusesmith::graph::op_tests

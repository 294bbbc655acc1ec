// For tests: softmax and normalisations.
#pragma once

#include "graph/op_tests/reductions.h"

namespace fusesmith::graph::op_tests {

inline std::vector<OpCase> norm_cases() {
  return {
      {Softmax{}, {f({3, 17})}},
      {Softmax{0}, {f({5, 3})}},
      {Softmax{1}, {f({2, 5, 3})}},
      {Softmax{-1}, {f({4, 1})}},
      {LayerNorm{}, {f({16})}},
      {LayerNorm{1e-3}, {f({3, 2, 33}), f({33})}},
      {LayerNorm{}, {f({4, 8}), f({8}), f({8})}},
      {RmsNorm{}, {f({3, 33})}},
      {RmsNorm{1e-3}, {f({3, 2, 16}), f({16})}},
      {GroupNorm{2}, {f({3, 4})}},
      {GroupNorm{4, 1e-3}, {f({2, 8, 3, 2}), f({8}), f({8})}},
      {GroupNorm{1}, {f({1, 5, 40}), f({5})}},
  };
}

// Rows of 16. Hadamard's rows of +-16 have mean 0 and variance 256, the first one mean 16 and variance 0.
inline std::vector<ExactCase> exact_norms() {
  const Fill grid = Lattice{8, -1}, deviations = Hadamard{16};
  return {{Softmax{}, {{{4, 16}, Constant{3}}}},
          {Softmax{}, {{{4, 16}, OneHot{5, 128}}}},
          {Softmax{0}, {{{2, 3}, OneHot{5, -104}}}},
          {LayerNorm{}, {{{3, 16}, Constant{0.75}}, {{16}, grid}, {{16}, grid}}},
          {LayerNorm{}, {{{6, 16}, deviations}}, true},
          {LayerNorm{1e-6}, {{{6, 16}, deviations}, {{16}, grid}, {{16}, grid}}, true},
          {GroupNorm{2}, {{{2, 4, 8}, Constant{-3}}, {{4}, grid}, {{4}, grid}}},
          {GroupNorm{4}, {{{2, 4, 16}, deviations}, {{4}, grid}, {{4}, grid}}, true},
          {RmsNorm{}, {{{6, 16}, deviations}}},
          {RmsNorm{}, {{{6, 16}, deviations}, {{16}, grid}}}};
}

// Rows with NaN, with an infinity, of one value, and of zeros of both signs.
inline std::vector<SpecialCase> special_norms(Dtype dtype) {
  [[maybe_unused]] const double max = max_finite(dtype), tiny = smallest_subnormal(dtype);
  const Row rows = {nan, 1, 1, 1, inf, 1, 1, 1, 3, 3, 3, 3, 0, -0.0, 0, -0.0};
  const Row centred = {nan, nan, nan, nan, nan, nan, nan, nan, 0, 0, 0, 0, 0, 0, 0, 0};
  return {{Softmax{},
           {{{5, 4},
             {-inf, -inf, -inf, -inf, nan, 1, 1, 1, inf, 1, 1, 1, -inf, 5, -inf, 5, max, -max, -max, -max}}},
           {{nan, nan, nan, nan, nan, nan, nan, nan, nan, nan, nan, nan, 0, 0.5, 0, 0.5, 1, 0, 0, 0}}},
          {LayerNorm{}, {{{4, 4}, rows}}, {centred}},
          {GroupNorm{1}, {{{4, 2, 2}, rows}}, {centred}},
          {RmsNorm{},
           {{{3, 4}, {nan, 1, 1, 1, inf, 1, -inf, 1, 0, -0.0, 0, -0.0}}},
           {{nan, nan, nan, nan, nan, 0, nan, 0, 0, 0, 0, 0}}}};
}

inline Values eval(const Softmax& op, const Args& x, const Shape& shape) {
  const size_t axis = axis_of(op.axis, shape.size());
  return generate(shape, [&](const Index& index) {
    double max = -std::numeric_limits<double>::infinity(), sum = 0;
    Index i = index;
    for (i[axis] = 0; i[axis] < shape[axis]; ++i[axis]) max = std::max(max, x[0].at(i));
    for (i[axis] = 0; i[axis] < shape[axis]; ++i[axis]) sum += std::exp(x[0].at(i) - max);
    return std::exp(x[0].at(index) - max) / sum;
  });
}

inline Values eval(const LayerNorm& op, const Args& x, const Shape& shape) {
  const int64_t n = shape.back();
  return generate(shape, [&](const Index& index) {
    double sum = 0, squares = 0;
    Index i = index;
    for (i.back() = 0; i.back() < n; ++i.back()) sum += x[0].at(i);
    const double mean = sum / static_cast<double>(n);
    for (i.back() = 0; i.back() < n; ++i.back()) squares += (x[0].at(i) - mean) * (x[0].at(i) - mean);
    double y = (x[0].at(index) - mean) / std::sqrt(squares / static_cast<double>(n) + op.eps);
    if (x.size() > 1) y *= x[1].at({index.back()});
    if (x.size() > 2) y += x[2].at({index.back()});
    return y;
  });
}

inline Values eval(const RmsNorm& op, const Args& x, const Shape& shape) {
  return generate(shape, [&](const Index& index) {
    double total = 0;
    Index i = index;
    for (i.back() = 0; i.back() < shape.back(); ++i.back()) total += x[0].at(i) * x[0].at(i);
    const double y = x[0].at(index) / std::sqrt(total / static_cast<double>(shape.back()) + op.eps);
    return x.size() > 1 ? y * x[1].at({index.back()}) : y;
  });
}

inline Values eval(const GroupNorm& op, const Args& x, const Shape& shape) {
  const int64_t size = shape[1] / op.groups;
  return generate(shape, [&](const Index& index) {
    std::vector<double> row;
    for_each_index(shape, [&](const Index& i) {
      if (i[0] == index[0] && i[1] / size == index[1] / size) row.push_back(x[0].at(i));
    });
    const double var = squares(row) / static_cast<double>(row.size());
    double y = (x[0].at(index) - mean(row)) / std::sqrt(var + op.eps);
    if (x.size() > 1) y *= x[1].at({index[1]});
    if (x.size() > 2) y += x[2].at({index[1]});
    return y;
  });
}

}  // namespace fusesmith::graph::op_tests

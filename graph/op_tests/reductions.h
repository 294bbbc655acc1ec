// For tests: reductions along axes.
#pragma once

#include "graph/op_tests/op_test.h"

namespace fusesmith::graph::op_tests {

inline std::vector<OpCase> reduction_cases() {
  return {
      {ReduceSum{{0}}, {f({17})}},
      {ReduceSum{{1, -1}, true}, {f({2, 3, 4})}},
      {ReduceSum{{0, 2}}, {f({3, 4, 50})}},
      {ReduceMean{{-1}}, {f({3, 10})}},
      {ReduceMean{{0}, true}, {f({64, 3})}},
      {ReduceMax{{1}}, {f({3, 40, 2})}},
      {ReduceMax{{-2}, true}, {f({1, 1})}},
      {VarMean{{-1}}, {f({4, 33})}},
      {VarMean{{0, 1}, 0, true}, {f({4, 8})}},
      {LogSumExp{{-1}}, {f({3, 17})}},
      {LogSumExp{{0, 2}, true}, {f({3, 4, 5})}},
      {LogSumExp{{1}}, {f({2, 300})}},
  };
}

inline std::vector<ExactCase> exact_reductions() {
  const Fill grid = Lattice{8, -1}, deviations = Hadamard{16};
  return {{ReduceSum{{-1}}, {{{4, 30}, grid}}},           {ReduceMean{{0, 1}}, {{{4, 8, 2}, grid}}},
          {ReduceMax{{-1}, true}, {{{4, 9}, Normal{}}}},  {VarMean{{-1}, 0}, {{{6, 16}, deviations}}, true},
          {VarMean{{-1}, 1}, {{{6, 16}, Constant{2.5}}}}, {LogSumExp{{-1}}, {{{1, 16}, OneHot{5, 128}}}},
          {LogSumExp{{-1}}, {{{20, 1}, Normal{}}}}};
}

inline std::vector<SpecialCase> special_reductions(Dtype dtype) {
  [[maybe_unused]] const double max = max_finite(dtype), tiny = smallest_subnormal(dtype);
  const SpecialInput x{{5, 2}, {inf, -inf, nan, 1, inf, 1, -inf, -inf, tiny, tiny}};
  return {{ReduceSum{{-1}}, {x}, {{nan, nan, inf, -inf, 2 * tiny}}},
          {ReduceSum{{-1}}, {{{1, 2}, {max, max}}}, {{inf}}},
          {ReduceMean{{-1}}, {x}, {{nan, nan, inf, -inf, tiny}}},
          {ReduceMax{{-1}}, {x}, {{inf, nan, inf, -inf, tiny}}},
          {VarMean{{-1}, 1},
           {{{4, 2}, {inf, -inf, nan, 1, inf, 1, 3, 3}}},
           {{nan, nan, nan, 0}, {nan, nan, inf, 3}}},
          {VarMean{{-1}, 1}, {{{1, 1}, {3}}}, {{nan}, {3}}},
          {LogSumExp{{-1}},
           {{{6, 2}, {inf, -inf, nan, inf, inf, 1, -inf, -inf, tiny, -max, max, -max}}},
           {{inf, nan, inf, -inf, tiny, max}}}};
}

// The index of x with the reduced axes at `inner` and the others at `index` of the result.
inline Index unreduced(const Shape& x, const std::vector<int>& axes, bool keepdims, const Index& index,
                       const Index& inner) {
  Index from;
  size_t kept = 0, next = 0;
  for (size_t d = 0; d < x.size(); ++d) {
    const bool reduced = std::count(axes.begin(), axes.end(), static_cast<int>(d)) > 0;
    from.push_back(reduced ? inner[next++] : index[kept]);
    if (!reduced || keepdims) ++kept;
  }
  return from;
}

// f of all elements that each result is made of.
template <class T>
Values reduced(const T& op, const Args& x, const Shape& shape,
               const std::function<double(const std::vector<double>&)>& f) {
  const std::vector<int> axes = *resolve_axes(op.axes, static_cast<int>(x[0].shape.size()));
  Shape inner;
  for (int axis : axes) inner.push_back(x[0].shape[static_cast<size_t>(axis)]);
  return generate(shape, [&](const Index& index) {
    std::vector<double> row;
    for_each_index(inner, [&](const Index& at) {
      row.push_back(x[0].at(unreduced(x[0].shape, axes, op.keepdims, index, at)));
    });
    return f(row);
  });
}

inline double sum(const std::vector<double>& row) { return std::accumulate(row.begin(), row.end(), 0.0); }
inline double mean(const std::vector<double>& row) { return sum(row) / static_cast<double>(row.size()); }
inline double squares(const std::vector<double>& row) {
  double total = 0;
  for (double v : row) total += (v - mean(row)) * (v - mean(row));
  return total;
}
inline Values eval(const ReduceSum& op, const Args& x, const Shape& shape) {
  return reduced(op, x, shape, sum);
}

inline Values eval(const ReduceMean& op, const Args& x, const Shape& shape) {
  return reduced(op, x, shape, mean);
}

inline Values eval(const ReduceMax& op, const Args& x, const Shape& shape) {
  return reduced(op, x, shape, [](const auto& row) { return *std::max_element(row.begin(), row.end()); });
}

inline Values eval(const LogSumExp& op, const Args& x, const Shape& shape) {
  return reduced(op, x, shape, [](const auto& row) {
    const double largest = *std::max_element(row.begin(), row.end());
    double total = 0;
    for (double v : row) total += std::exp(v - largest);
    return largest + std::log(total);
  });
}

inline Values eval_output(const VarMean& op, const Args& x, const Shape& shape, size_t output) {
  if (output == 1) return reduced(op, x, shape, mean);
  return reduced(op, x, shape, [&](const auto& row) {
    return squares(row) / static_cast<double>(static_cast<int64_t>(row.size()) - op.correction);
  });
}

}  // namespace fusesmith::graph::op_tests

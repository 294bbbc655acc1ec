// For tests: ops that move elements, and sources.
#pragma once

#include "graph/op_tests/op_test.h"

namespace fusesmith::graph::op_tests {

inline std::vector<OpCase> movement_cases() {
  return {
      {Dropout{}, {f({3, 4})}},
      {Reshape{{2, 6}}, {f({3, 4})}},
      {Reshape{{}}, {f({1, 1})}},
      {Unsqueeze{-1}, {f({3, 4})}},
      {Squeeze{1}, {f({3, 1, 4})}},
      {Permute{{1, 0}}, {f({3, 4})}},
      {Permute{{0, 2, 1, 3}}, {f({2, 3, 4, 5})}},
      {Permute{{2, 0, 1}}, {indices({2, 3, 4})}},
      {Permute{{}}, {f({})}},
      {BroadcastTo{{2, 3, 4}}, {f({3, 1})}},
      {BroadcastTo{{2, 2}}, {mask({})}},
      {Slice{1, 1, 6, 2}, {f({3, 7, 2})}},
      {Slice{-1, 0, 3, 1}, {f({3, 7})}},
      {Slice{0, 2, 3, 5}, {indices({3})}},
      {Gather{}, {f({8, 5}), indices({2, 3})}},
      {Gather{}, {f({8}), indices({})}},
      {Gather{}, {mask({9, 2, 2}), indices({4})}},
      {Chunk{1, 3}, {f({3, 6, 2})}},
      {Chunk{-1, 2}, {mask({2, 4})}},
      {Concat{0}, {f({2, 3}), f({1, 3}), f({4, 3})}},
      {Concat{-1}, {indices({2, 3}), indices({2, 1})}},
      {Roll{0, 2}, {f({5, 3})}},
      {Roll{-2, -1}, {f({2, 4, 3})}},
      {Roll{1, 9}, {mask({2, 4})}},
      {Flip{{0}}, {f({5, 3})}},
      {Flip{{0, -1}}, {indices({2, 3, 4})}},
      {IndexCopy{0}, {f({8, 3}), indices({4}), f({4, 3})}},
      {IndexCopy{1}, {f({2, 9, 3}), indices({1}), f({2, 1, 3})}},
      {IndexCopy{-1}, {mask({2, 8}), indices({8}), mask({2, 8})}},
      {Arange{5, 3, 2}, {}},
      {CausalMask{4, 6, CausalAlignment::top_left}, {}},
      {CausalMask{4, 6, CausalAlignment::bottom_right}, {}},
      {CausalMask{6, 4, CausalAlignment::bottom_right}, {}},
      {CausalMask{6, 4, CausalAlignment::top_left, 1}, {}},
      {CausalMask{4, 6, CausalAlignment::bottom_right, 2}, {}},
      {CausalMask{6, 5, CausalAlignment::bottom_right, 3, true}, {}},
  };
}

inline std::vector<ExactCase> exact_movement() {
  const ExactInput x{{3, 4}, Normal{}};
  const ExactInput places{{2}, Literal{"0000000200000000"}, Dtype::i32};
  return {{Dropout{}, {x}},
          {Reshape{{2, 6}}, {x}},
          {Permute{{1, 0}}, {x}},
          {Unsqueeze{1}, {x}},
          {Squeeze{0}, {{{1, 5}, Normal{}}}},
          {BroadcastTo{{2, 3, 4}}, {x}},
          {Slice{1, 1, 4, 2}, {x}},
          {Chunk{1, 2}, {x}},
          {Concat{0}, {x, {{2, 4}, Normal{}}}},
          {Roll{1, 3}, {x}},
          {Flip{{0, 1}}, {x}},
          {Gather{}, {x, {{5}, Tokens{3}, Dtype::i32}}},
          {IndexCopy{0}, {x, places, {{2, 4}, Normal{}}}},
          {Arange{5, 2, 3}, {}},
          {CausalMask{4, 6, CausalAlignment::bottom_right}, {}}};
}

// Every bit is kept.
inline std::vector<SpecialCase> special_movement(Dtype dtype) {
  [[maybe_unused]] const double max = max_finite(dtype), tiny = smallest_subnormal(dtype);
  const Row x = {nan, inf, -0.0, tiny};
  const Row twice = {nan, inf, -0.0, tiny, nan, inf, -0.0, tiny};
  const auto places = [](Row at) { return SpecialInput{{static_cast<int64_t>(at.size())}, at, Dtype::i32}; };
  return {unary(Dropout{}, x, x),
          unary(Reshape{{2, 2}}, x, x),
          unary(Unsqueeze{0}, x, x),
          {Squeeze{0}, {{{1, 4}, x}}, {x}},
          {Permute{{1, 0}}, {{{2, 2}, x}}, {{nan, -0.0, inf, tiny}}},
          unary(BroadcastTo{{2, 4}}, x, twice),
          unary(Slice{0, 1, 4, 2}, x, {inf, tiny}),
          {Chunk{0, 2}, {row(x)}, {{nan, inf}, {-0.0, tiny}}},
          binary(Concat{0}, x, x, twice),
          unary(Roll{0, 1}, x, {tiny, nan, inf, -0.0}),
          unary(Flip{{0}}, x, {tiny, -0.0, inf, nan}),
          {Gather{}, {row(x), places({2, 0})}, {{-0.0, nan}}},
          {IndexCopy{0}, {row(x), places({1}), row({-inf})}, {{nan, -inf, -0.0, tiny}}}};
}

inline Values eval(const Dropout&, const Args& x, const Shape&) { return x[0]; }
inline Values eval(const Reshape&, const Args& x, const Shape& shape) { return {shape, x[0].data}; }
inline Values eval(const Unsqueeze&, const Args& x, const Shape& shape) { return {shape, x[0].data}; }
inline Values eval(const Squeeze&, const Args& x, const Shape& shape) { return {shape, x[0].data}; }
inline Values eval(const Permute& op, const Args& x, const Shape& shape) {
  return generate(shape, [&](const Index& index) {
    Index from(index.size());
    for (size_t i = 0; i < index.size(); ++i) from[static_cast<size_t>(op.dims[i])] = index[i];
    return x[0].at(from);
  });
}

inline Values eval(const BroadcastTo&, const Args& x, const Shape& shape) {
  return generate(shape, [&](const Index& i) { return x[0].broadcast_at(i); });
}

inline Values eval(const Slice& op, const Args& x, const Shape& shape) {
  return generate(shape, [&](Index index) {
    int64_t& i = index[axis_of(op.axis, shape.size())];
    i = op.start + i * op.step;
    return x[0].at(index);
  });
}

inline Values eval(const Gather&, const Args& x, const Shape& shape) {
  const auto rank = static_cast<std::ptrdiff_t>(x[1].shape.size());
  return generate(shape, [&](const Index& index) {
    Index from = {static_cast<int64_t>(x[1].at(Index(index.begin(), index.begin() + rank)))};
    from.insert(from.end(), index.begin() + rank, index.end());
    return x[0].at(from);
  });
}

inline Values eval_output(const Chunk& op, const Args& x, const Shape& shape, size_t output) {
  const size_t axis = axis_of(op.axis, shape.size());
  return generate(shape, [&](Index index) {
    index[axis] += static_cast<int64_t>(output) * shape[axis];
    return x[0].at(index);
  });
}

inline Values eval(const Concat& op, const Args& x, const Shape& shape) {
  const size_t axis = axis_of(op.axis, shape.size());
  return generate(shape, [&](Index index) {
    size_t part = 0;
    for (; index[axis] >= x[part].shape[axis]; ++part) index[axis] -= x[part].shape[axis];
    return x[part].at(index);
  });
}

inline Values eval(const Roll& op, const Args& x, const Shape& shape) {
  const size_t axis = axis_of(op.axis, shape.size());
  Values y{shape, x[0].data};
  for_each_index(shape, [&](Index index) {
    const double moved = x[0].at(index);
    index[axis] = ((index[axis] + op.shift) % shape[axis] + shape[axis]) % shape[axis];
    y.data[y.offset(index)] = moved;
  });
  return y;
}

inline Values eval(const Flip& op, const Args& x, const Shape& shape) {
  return generate(shape, [&](Index index) {
    for (int64_t axis : op.axes) {
      const size_t at = axis_of(axis, shape.size());
      index[at] = shape[at] - 1 - index[at];
    }
    return x[0].at(index);
  });
}

inline Values eval(const IndexCopy& op, const Args& x, const Shape& shape) {
  const size_t axis = axis_of(op.axis, shape.size());
  return generate(shape, [&](Index index) {
    for (int64_t i = 0; i < x[1].shape[0]; ++i) {
      if (x[1].at({i}) != static_cast<double>(index[axis])) continue;
      index[axis] = i;
      return x[2].at(index);
    }
    return x[0].at(index);
  });
}

inline Values eval(const Arange& op, const Args&, const Shape& shape) {
  return generate(shape, [&](const Index& i) { return static_cast<double>(op.start + i[0] * op.step); });
}

inline Values eval(const CausalMask& op, const Args&, const Shape& shape) {
  const int64_t shift = op.alignment == CausalAlignment::bottom_right ? op.cols - op.rows : 0;
  return generate(shape, [&](const Index& i) {
    const int64_t behind = i[0] + shift - i[1];  // negative: in the future
    if (behind < 0) return op.shows_future ? 0 : 1;
    return op.window != 0 && behind > op.window - 1 ? 1 : 0;
  });
}

}  // namespace fusesmith::graph::op_tests

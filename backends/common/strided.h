// Loops over strided index spaces with several operands: the basis of broadcasting, permuting, slicing and
// packing.
#pragma once

#include <array>
#include <optional>
#include <span>
#include <vector>

#include "graph/tensor.h"

namespace fusesmith::backends {

// An index space of `sizes`, and for each operand the stride (in elements) of each axis.
template <size_t N>
struct Strided {
  Shape sizes;
  std::array<Shape, N> strides;
};

// Drops axes of size 1 and merges neighbouring axes that are contiguous for every operand. Keeps the order
// of elements.
void merge_axes(Shape& sizes, std::span<Shape> strides);
// The single stride with which the axes are read as one (0 if there is but one element), or nothing.
std::optional<int64_t> joint_stride(Shape sizes, Shape strides);
// The axes of a, then those of b.
Shape join(Shape a, const Shape& b);

// Calls row(offsets, count, steps) for each innermost row, in row-major order: element i of the row lies at
// offsets[k] + i * steps[k] of operand k.
template <size_t N, class F>
void for_each_row(Strided<N> space, F row) {
  merge_axes(space.sizes, space.strides);
  if (space.sizes.empty()) return row(std::array<int64_t, N>{}, int64_t{1}, std::array<int64_t, N>{});
  const size_t last = space.sizes.size() - 1;
  std::array<int64_t, N> offsets{}, steps{};
  for (size_t k = 0; k < N; ++k) steps[k] = space.strides[k][last];
  Shape index(last, 0);
  while (true) {
    row(offsets, space.sizes[last], steps);
    size_t axis = last;
    for (; axis > 0; --axis) {
      const size_t a = axis - 1;
      const bool wraps = ++index[a] == space.sizes[a];
      for (size_t k = 0; k < N; ++k) offsets[k] += space.strides[k][a] * (wraps ? 1 - space.sizes[a] : 1);
      if (!wraps) break;
      index[a] = 0;
    }
    if (axis == 0) return;
  }
}

// to[i] = from[offset of i] for every i of the index space, in row-major order.
template <class T>
void copy_strided(const T* from, const Shape& sizes, const Shape& strides, T* to) {
  for_each_row(Strided<1>{sizes, {strides}},
               [&](const std::array<int64_t, 1>& offset, int64_t count, const std::array<int64_t, 1>& step) {
                 const T* source = from + offset[0];
                 for (int64_t i = 0; i < count; ++i) to[i] = source[i * step[0]];
                 to += count;
               });
}

// A tensor's elements as f32 (0 or 1 for bool), one for each element of `shape`, read with these strides.
std::vector<float> spread(const Tensor& tensor, const Shape& strides, const Shape& shape);
// The same of elements that are f32 already, or flags.
template <class T>
std::vector<float> spread(const T* elements, const Shape& strides, const Shape& shape) {
  std::vector<float> all(static_cast<size_t>(element_count(shape)));
  auto to = all.begin();
  for_each_row(Strided<1>{shape, {strides}},
               [&](const std::array<int64_t, 1>& offset, int64_t count, const std::array<int64_t, 1>& step) {
                 for (int64_t i = 0; i < count; ++i)
                   *to++ = static_cast<float>(elements[offset[0] + i * step[0]]);
               });
  return all;
}

}  // namespace fusesmith::backends

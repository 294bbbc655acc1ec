// Movement ops: the same elements in another order or shape.
#include <numeric>

#include "fuzz/generate/pieces/pieces.h"

namespace fusesmith::fuzz {
namespace {

Value squeezed_or_not(Scene& s, Value x) {
  const int rank = s.type(x).rank();
  for (int64_t axis = 0; axis < rank; ++axis) {
    if (s.shape(x)[static_cast<size_t>(axis)] == 1 && s.flip(0.7))
      return s.op(Squeeze{s.flip() ? axis : axis - rank}, {x});
  }
  return s.op(Unsqueeze{s.choices.between(-rank - 1, rank)}, {x});
}

// Splits x into parts. Returns one part; the others stay live.
Value one_part(Scene& s, Value x, const Chunk& op) {
  const Value first = s.op(op, {x});
  const int64_t chosen = s.choices.below(op.chunks);
  for (int64_t i = 0; i < op.chunks; ++i) {
    if (i != chosen) s.keep(first + static_cast<Value>(i));
  }
  return first + static_cast<Value>(chosen);
}

// Concatenates x with one or two more values along an axis, in any order.
Value joined(Scene& s, Value x) {
  const int rank = s.type(x).rank();
  const int64_t axis = s.choices.below(rank);
  std::vector<Value> parts = {x};
  for (int64_t more = s.choices.between(1, 2); more > 0; --more) {
    TensorType type = s.type(x);
    if (s.flip()) type.shape[static_cast<size_t>(axis)] = s.dim(16);
    const Value part = s.flip(0.1) ? x : s.like(type);
    parts.insert(parts.begin() + (s.flip() ? 0 : 1), part);
  }
  return s.op(Concat{s.flip(0.7) ? axis : axis - rank}, parts);
}

}  // namespace

Value as_rows(Scene& s, Value x) {
  const int64_t n = s.shape(x).back();
  const Shape rows = {element_count(s.type(x)) / n, n};
  return s.shape(x) == rows ? x : s.op(Reshape{rows}, {x});
}

std::optional<Chunk> random_chunk(Scene& s, const Shape& shape) {
  const auto rank = static_cast<int64_t>(shape.size()), axis = s.choices.below(rank);
  std::vector<int64_t> divisors;
  for (int64_t chunks : {2, 3, 4, 5, 8}) {
    if (shape[static_cast<size_t>(axis)] % chunks == 0) divisors.push_back(chunks);
  }
  if (divisors.empty()) return std::nullopt;
  return Chunk{s.flip(0.5) ? axis : axis - rank, s.choices.pick(std::span<const int64_t>(divisors))};
}

Permute random_permute(Scene& s, const Shape& shape) {
  Permute op;
  op.dims.resize(shape.size());
  std::iota(op.dims.begin(), op.dims.end(), 0);
  for (size_t i = op.dims.size(); i > 1; --i) {
    std::swap(op.dims[i - 1], op.dims[static_cast<size_t>(s.choices.below(static_cast<int64_t>(i)))]);
  }
  return op;
}

// Splits one axis, merges two neighbouring axes, or flattens all of them.
Reshape random_reshape(Scene& s, Shape shape) {
  const auto axis = static_cast<size_t>(s.choices.below(static_cast<int64_t>(shape.size())));
  const auto at = shape.begin() + static_cast<std::ptrdiff_t>(axis);
  const int64_t part = s.choices.pick<int64_t>({2, 3, 4, 5, 8, 16});
  if (s.flip(0.15)) return {{element_count(shape)}};
  if (*at % part == 0 && shape.size() < 5 && s.flip(0.6)) {
    *at /= part;
    shape.insert(at + (s.flip() ? 1 : 0), part);
  } else if (axis + 1 < shape.size()) {
    *at *= at[1];
    shape.erase(at + 1);
  }
  return {shape};
}

Slice random_slice(Scene& s, const Shape& shape) {
  const auto rank = static_cast<int64_t>(shape.size());
  const int64_t axis = s.choices.below(rank), size = shape[static_cast<size_t>(axis)];
  const int64_t start = s.choices.below(size), stop = s.choices.between(start + 1, size);
  const int64_t step = s.flip(0.75) ? 1 : s.choices.between(2, 3);
  return {s.flip(0.7) ? axis : axis - rank, start, stop, step};
}

// Broadcasts axes of size 1. Adds a leading axis where there is none of size 1, and sometimes otherwise.
BroadcastTo random_broadcast(Scene& s, Shape shape) {
  bool widened = false;
  for (int64_t& size : shape) {
    if (size != 1 || s.flip(0.3)) continue;
    size = s.dim(16);
    widened = true;
  }
  if (!widened || s.flip(0.3)) shape.insert(shape.begin(), s.dim(4));
  return {shape};
}

bool add_movement(Scene& s) {
  Value x = s.any(1, 5);
  const int64_t count = s.choices.between(1, 3);
  for (int64_t i = 0; i < count; ++i) {
    const Shape shape = s.shape(x);
    if (shape.empty() || shape.size() > 5) break;
    const int rank = static_cast<int>(shape.size());
    switch (s.choices.below(9)) {
      case 1:
        x = s.op(random_reshape(s, shape), {x});
        break;
      case 2:
        x = s.op(random_slice(s, shape), {x});
        break;
      case 3:
        x = s.op(random_broadcast(s, shape), {x});
        break;
      case 4:
        x = squeezed_or_not(s, x);
        break;
      case 5:
        if (const auto chunk = random_chunk(s, shape)) x = one_part(s, x, *chunk);
        break;
      case 6:
        x = joined(s, x);
        break;
      case 7:
        x = s.op(Roll{s.choices.between(-rank, rank - 1), s.choices.between(-shape.back(), shape.back())},
                 {x});
        break;
      case 8:
        x = s.op(Flip{random_axes(s, rank)}, {x});
        break;
      default:
        x = s.op(random_permute(s, shape), {x});
    }
  }
  s.keep(x);
  return true;
}

}  // namespace fusesmith::fuzz

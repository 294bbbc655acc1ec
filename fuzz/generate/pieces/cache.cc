// Cache updates as in decoding: new slices are written at given positions, or appended. Includes rotary
// embedding of the new slices.
#include <algorithm>

#include "fuzz/generate/pieces/pieces.h"

namespace fusesmith::fuzz {
namespace {

TensorType with_size(TensorType type, int64_t axis, int64_t size) {
  type.shape[static_cast<size_t>(axis)] = size;
  return type;
}

// The slices in another order, gathered by index; usually shifted.
Value reordered(Scene& s, Value cache, int64_t axis, int64_t n, int64_t shift) {
  const Value numbers = s.op(Arange{n}, {});
  const Value order = s.flip(0.9) ? s.op(Roll{0, -shift}, {numbers}) : s.op(Flip{{0}}, {numbers});
  if (axis == 0) return s.op(Gather{}, {cache, order});
  Permute front{{axis}}, back;
  for (int64_t i = 0; i < s.type(cache).rank(); ++i) {
    if (i != axis) front.dims.push_back(i);
    back.dims.push_back(i == axis ? 0 : i < axis ? i + 1 : i);
  }
  return s.op(back, {s.op(Gather{}, {s.op(front, {cache}), order})});
}

}  // namespace

Value updated_cache(Scene& s, Value cache, int64_t axis, Value rows) {
  const int64_t n = s.shape(cache)[static_cast<size_t>(axis)],
                count = s.shape(rows)[static_cast<size_t>(axis)];
  const int64_t way = s.choices.below(8);
  if (way < 2 && count < n) {
    if (s.flip(0.85)) return s.op(Concat{axis}, {s.op(Slice{axis, count, n}, {cache}), rows});
    return s.op(Concat{axis}, {rows, s.op(Slice{axis, 0, n - count}, {cache})});
  }
  if (way < 5) {
    const int64_t rank = s.type(cache).rank();
    const Value places = distinct_indices(s, count, n);
    return s.op(IndexCopy{s.flip(0.7) ? axis : axis - rank}, {cache, places, rows});
  }
  const Value moved = way < 7 ? s.op(Roll{axis, -count}, {cache}) : reordered(s, cache, axis, n, count);
  const bool behind = s.flip(0.8);
  const Value places = behind ? s.op(Arange{count, n - count, 1}, {}) : distinct_indices(s, count, n);
  return s.op(IndexCopy{axis}, {moved, places, rows});
}

Value distinct_indices(Scene& s, int64_t count, int64_t size) {
  if (count == 1 && s.flip()) return s.token_ids({1}, size);
  const int64_t step = s.flip(0.7) || count * 2 > size ? 1 : 2;
  const int64_t room = size - 1 - (count - 1) * step;
  const Value indices = s.op(Arange{count, s.choices.between(0, room), step}, {});
  if (count > 1 && s.flip(0.3)) return s.op(Roll{0, s.choices.between(1, count - 1)}, {indices});
  return s.flip(0.2) ? s.op(Flip{{0}}, {indices}) : indices;
}

int64_t draw_rotary_dim(Scene& s, int64_t width) {
  const bool part = width % 2 != 0 || (width > 2 && s.flip(0.3));
  return part ? 2 * s.choices.between(1, width / 2) : 0;
}

Value rotate(Scene& s, Value x) {
  TensorType table = s.type(x);
  const int64_t width = table.shape.back();
  Rope op{s.flip(0.7) ? Rope::Pairing::half : Rope::Pairing::interleaved, draw_rotary_dim(s, width)};
  table.shape.back() = op.rotated(width) / 2;
  while (table.rank() > 2 || (table.rank() > 1 && s.flip(0.1))) table.shape.erase(table.shape.begin());
  const auto angles = [&](std::string_view role) {
    return s.style == DataStyle::lattice ? s.source(role, table, Role::activation)
                                         : s.sketch.input(role, table, Uniform{-1, 1});
  };
  const Value cos = angles("cos"), sin = angles("sin");
  return s.op(op, {x, cos, sin});
}

bool add_cache_update(Scene& s) {
  const Value cache = s.any(2, 5);
  const int rank = s.type(cache).rank();
  const int64_t axis = s.flip(0.6) ? rank - 2 : s.choices.below(rank),
                n = s.shape(cache)[static_cast<size_t>(axis)];
  const int64_t count = s.flip() ? 1 : s.choices.between(1, std::min<int64_t>(n, 8));
  s.keep(updated_cache(s, cache, axis, s.like(with_size(s.type(cache), axis, count))));
  return true;
}

bool add_rope(Scene& s) {
  const Value x = s.any(1, 5);
  if (s.shape(x).back() < 2) return false;
  s.keep(rotate(s, x));
  return true;
}

}  // namespace fusesmith::fuzz

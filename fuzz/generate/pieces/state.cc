// States of decoding: key and value caches, recurrent states, ring buffers that are read at one place and
// written at another. Usually only the update reads the old value; occasionally other nodes do.
#include <algorithm>

#include "fuzz/generate/pieces/pieces.h"

namespace fusesmith::fuzz {
namespace {

// A state and its update along an axis, or the state's old value.
struct Carried {
  Value old, next;
};

Carried carried_cache(Scene& s, const TensorType& type, int64_t axis, Value rows) {
  const Value old = s.state(type);
  const Value next = updated_cache(s, old, axis, rows);
  s.sketch.set_next(old, next);
  if (s.flip(0.2)) s.keep(old);
  if (s.flip(0.3)) s.keep(next);
  return {old, next};
}

}  // namespace

// A few new queries, keys and values; attention over the caches that end with them, or over their last
// rows.
bool add_decoding(Scene& s) {
  constexpr int64_t kAxis = 2;
  const int64_t heads = s.choices.between(1, 4), size = s.choices.pick<int64_t>({2, 4, 8, 16, 32, 64}),
                room = s.max_elements / (24 * s.batch * heads * size);
  const int64_t window = s.dim(std::min<int64_t>(room, 65)),
                count = s.flip(0.7) ? 1 : s.choices.between(1, std::min<int64_t>(window, 4));
  const TensorType cache = {s.dtype, {s.batch, heads, window, size}},
                   rows = {s.dtype, {s.batch, heads, count, size}};
  Value q = s.like(rows), k_new = s.like(rows);
  const Value v_new = s.like(rows);
  if (s.flip(0.3)) {
    q = rotate(s, q);
    k_new = rotate(s, k_new);
  }
  const Carried k = carried_cache(s, cache, kAxis, k_new), v = carried_cache(s, cache, kAxis, v_new);
  const bool before = s.flip(0.15);
  Value keys = before ? k.old : k.next, values = before ? v.old : v.next;
  if (window > 1 && s.flip(0.25)) {
    const Slice last{kAxis, s.choices.between(1, window - 1), window};
    keys = s.op(last, {keys});
    values = s.op(last, {values});
  }
  s.keep(attend(s, q, keys, values));
  return true;
}

// A gated recurrence, or a running sum, mean or maximum.
bool add_recurrence(Scene& s) {
  const Value x = s.any(1, 4);
  const Value h = s.state(s.type(x));
  Value next = h;
  switch (s.choices.below(4)) {
    case 0:
      next = s.op(Add{}, {h, x});
      break;
    case 1:
      next = s.op(Maximum{}, {h, x});
      break;
    case 2:
      next = s.op(Add{}, {s.op(Scale{0.75}, {h}), s.op(Scale{0.25}, {x})});
      break;
    default: {
      const Value gate = s.op(Sigmoid{}, {s.like(s.type(x))});
      next = s.op(Add{}, {s.op(Mul{}, {gate, h}), x});
    }
  }
  s.sketch.set_next(h, next);
  s.keep(next);
  if (s.flip(0.3)) s.keep(h);
  return true;
}

// A ring buffer: rows are read at some places and written at others, before or after the update.
// Occasionally a second state stores the old value, which delays it by one step.
bool add_ring(Scene& s) {
  const Value rows = s.any(1, 4);
  TensorType type = s.type(rows);
  const int64_t count = type.shape[0],
                n = std::max(count, s.dim(s.max_elements / (24 * (element_count(type) / count))));
  type.shape[0] = n;
  const Value old = s.state(type);
  const Value next = updated_cache(s, old, 0, rows);
  s.sketch.set_next(old, next);
  const int64_t wanted = s.choices.between(1, std::min<int64_t>(n, 8));
  const Value places = s.flip() ? s.token_ids({wanted}, n) : distinct_indices(s, wanted, n);
  s.keep(s.op(Gather{}, {s.flip(0.3) ? old : next, places}));
  if (!s.flip(0.1)) return true;
  const Value before = s.state(type);
  s.sketch.set_next(before, old);
  s.keep(before);
  return true;
}

}  // namespace fusesmith::fuzz

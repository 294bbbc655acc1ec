// Attention whose query heads share heads of k and v, in ratios that are no power of two: with as many
// queries as keys, or with the few of decoding and long keys; with heads of v that are wider or narrower than
// those of q and k, and that are no multiple of 8.
#include "fuzz/generate/pieces/pieces.h"

namespace fusesmith::fuzz {
namespace {

struct Sizes {
  int64_t batch, groups, ratio, queries, keys, depth, width;

  int64_t elements() const {
    const int64_t heads = groups * ratio;
    return batch * (heads * queries * (depth + 3 * keys + width) + groups * keys * (depth + width));
  }
};

Sizes random_sizes(Scene& s) {
  Sizes sizes{s.choices.between(1, 3),
              s.choices.between(1, 3),
              s.choices.pick<int64_t>({2, 3, 3, 4, 5, 6, 12}),
              s.choices.between(1, 4),
              1,
              1,
              1};
  const bool decodes = s.flip(0.6);
  if (!decodes) sizes.queries = s.choices.pick<int64_t>({8, 15, 16, 17, 31, 33});
  sizes.keys = s.flip(0.25) ? sizes.queries
               : decodes    ? s.choices.pick<int64_t>({65, 66, 96, 97, 127, 128, 129, 160, 257, 300, 513})
                            : s.choices.pick<int64_t>({5, 17, 31, 32, 33, 40, 63, 65});
  if (s.flip(0.15)) sizes.batch = sizes.queries = s.choices.between(2, 4);  // as many elements as queries
  sizes.depth = s.choices.pick<int64_t>({4, 8, 10, 12, 16, 20, 24, 40, 64});
  sizes.width = s.flip() ? sizes.depth : s.choices.pick<int64_t>({4, 6, 12, 16, 17, 33, 48});
  if (sizes.elements() > s.max_elements) sizes.batch = sizes.groups = 1;
  return sizes;
}

Value composite(Scene& s, const Sizes& sizes, Value q, Value k, Value v) {
  Sdpa op;
  op.grouped_heads = true;
  op.upcast = s.flip(0.3);
  op.softcap = s.flip(0.2) ? s.choices.pick({2.0, 30.0}) : 0;
  if (sizes.queries <= sizes.keys && s.flip(0.6)) {
    op.mask = Sdpa::Mask::causal;
    op.alignment = CausalAlignment::bottom_right;
    if (s.flip(0.4)) op.window = s.choices.between(1, sizes.keys);
    return s.op(op, {q, k, v});
  }
  if (!s.flip(0.4)) return s.op(op, {q, k, v});
  op.mask = Sdpa::Mask::boolean;
  Shape mask = {sizes.batch, 1, s.flip() ? 1 : sizes.queries, sizes.keys};
  return s.op(op, {q, k, v, s.mask(mask, s.choices.pick({0.9, 0.5}))});
}

}  // namespace

bool add_shared_heads(Scene& s) {
  const Sizes sizes = random_sizes(s);
  const int64_t heads = sizes.groups * sizes.ratio;
  const Value q = s.like({s.dtype, {sizes.batch, heads, sizes.queries, sizes.depth}}),
              k = s.like({s.dtype, {sizes.batch, sizes.groups, sizes.keys, sizes.depth}}),
              v = s.like({s.dtype, {sizes.batch, sizes.groups, sizes.keys, sizes.width}});
  if (s.flip(0.6)) {
    s.keep(composite(s, sizes, q, k, v));
    return true;
  }
  const Value values = repeat_heads(s, v, heads);
  s.keep(attend(s, q, repeat_heads(s, k, heads), values));
  return true;
}

}  // namespace fusesmith::fuzz

// The composite op sdpa with every attribute, on live values of rank 2 to 4.
#include "fuzz/generate/pieces/pieces.h"

namespace fusesmith::fuzz {

namespace {

// Sometimes reduces the number of key heads to a divisor of the number of query heads.
void group_heads(Scene& s, Sdpa& op, Shape& key) {
  op.grouped_heads = op.grouped_heads && key.size() > 2;
  if (!op.grouped_heads) return;
  int64_t& heads = key.end()[-3];
  std::vector<int64_t> divisors;
  for (int64_t i = 1; i <= heads; ++i) {
    if (heads % i == 0) divisors.push_back(i);
  }
  heads = s.choices.pick(std::span<const int64_t>(divisors));
}

// Removes a window where none is allowed, and, except occasionally, one that hides whole rows.
void fit_window(Scene& s, Sdpa& op, int64_t queries, int64_t keys) {
  if (op.takes_mask() || (queries > keys && s.flip(0.9))) op.window = 0;
  if (op.window > keys && s.flip(0.8)) op.window = s.choices.between(1, keys);
  if (op.softcap < Sdpa::kSmallestCap) op.softcap = 0;
}

}  // namespace

std::vector<Value> sdpa_operands(Scene& s, Sdpa& op, Value q) {
  const TensorType type = s.type(q);
  TensorType key = type;
  group_heads(s, op, key.shape);
  if (s.flip(0.5)) key.shape.end()[-2] = s.dim();
  TensorType value = key;
  if (s.flip(0.3)) value.shape.back() = s.dim(64);
  const int64_t queries = type.shape.end()[-2], keys = key.shape.end()[-2];
  // With more queries than keys, bottom_right hides every key from the first queries: NaN, so only
  // occasionally.
  op.alignment =
      s.flip(queries <= keys ? 0.5 : 0.1) ? CausalAlignment::bottom_right : CausalAlignment::top_left;
  fit_window(s, op, queries, keys);
  const Value k = s.like(key), v = s.like(value);
  if (op.mask != Sdpa::Mask::boolean && op.mask != Sdpa::Mask::additive) return {q, k, v};
  Shape mask(type.shape.begin(), type.shape.end() - 1);
  mask.push_back(keys);
  if (s.flip(0.5))
    mask.erase(mask.begin(), mask.end() - 2);
  else if (mask.size() > 2 && s.flip(0.5))
    mask[mask.size() - 3] = 1;
  if (op.mask == Sdpa::Mask::additive) return {q, k, v, s.source("m", {type.dtype, mask}, Role::bias)};
  return {q, k, v, s.mask(mask, s.choices.pick({0.9, 0.9, 0.9, 0.75, 0.75, 1.0, 1.0, 0.4}))};
}

bool add_sdpa(Scene& s) {
  const Value q = s.any(2, 4);
  Sdpa op;
  op.scale_on = s.flip(0.4) ? Sdpa::ScaleOn::both : Sdpa::ScaleOn::scores;
  op.upcast = s.flip(0.4);
  op.mask = s.choices.pick({Sdpa::Mask::none, Sdpa::Mask::causal, Sdpa::Mask::boolean, Sdpa::Mask::additive});
  op.scale = s.flip(0.7) ? 0 : s.choices.pick({0.125, 0.25, 1.0, 0.3});
  op.grouped_heads = s.flip(0.3);
  op.window = s.flip(0.3) ? s.choices.between(1, 16) : 0;
  op.softcap = s.flip(0.2) ? s.choices.pick({0.5, 2.0, 30.0, 50.0}) : 0;
  const std::vector<Value> inputs = sdpa_operands(s, op, q);
  s.keep(s.op(op, inputs));
  return true;
}

}  // namespace fusesmith::fuzz

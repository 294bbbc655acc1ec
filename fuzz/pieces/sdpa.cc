// The composite op sdpa with every attribute, on live values of rank 2 to 4.
#include "fuzz/pieces/pieces.h"

namespace fusesmith {

std::vector<Value> sdpa_operands(Scene& s, Sdpa& op, Value q) {
  const TensorType type = s.type(q);
  TensorType key = type;
  if (s.flip(0.5)) key.shape.end()[-2] = s.dim();
  TensorType value = key;
  if (s.flip(0.3)) value.shape.back() = s.dim(64);
  const int64_t queries = type.shape.end()[-2], keys = key.shape.end()[-2];
  // With more queries than keys, bottom_right hides every key of the first rows: NaN, so only now and then.
  op.alignment =
      s.flip(queries <= keys ? 0.5 : 0.1) ? CausalAlignment::bottom_right : CausalAlignment::top_left;
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
  const std::vector<Value> inputs = sdpa_operands(s, op, q);
  s.keep(s.op(op, inputs));
  return true;
}

}  // namespace fusesmith

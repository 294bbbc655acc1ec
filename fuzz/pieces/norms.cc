// LayerNorm on live values, before or after a residual, with and without affine part, and in f32 between
// casts.
#include "fuzz/pieces/pieces.h"

namespace fusesmith {

Value normalize(Scene& s, Value x) {
  const Dtype dtype = s.type(x).dtype;
  const bool in_f32 = dtype != Dtype::f32 && s.flip(0.25);
  if (in_f32) x = s.op(Cast{Dtype::f32}, {x});
  const TensorType affine{s.type(x).dtype, {s.shape(x).back()}};
  std::vector<Value> inputs = {x};
  if (s.flip(0.8)) inputs.push_back(s.gain(affine));
  if (inputs.size() == 2 && s.flip(0.8)) inputs.push_back(s.bias(affine));
  const Value y = s.op(LayerNorm{s.choices.pick({1e-5, 1e-5, 1e-6, 1e-3, 0.1})}, inputs);
  return in_f32 ? s.op(Cast{dtype}, {y}) : y;
}

bool add_norm(Scene& s) {
  Value x = s.any(1, 5);
  if (s.shape(x).back() == 1 && !s.flip(0.1)) return false;  // the norm of one element is its bias
  const Value residual = x;
  if (s.flip(0.4)) {
    const Value other = s.like(s.type(x));
    x = add_either_way(s, x, other);
    if (s.flip(0.5)) s.keep(x);  // the sum goes on beside its norm, as in pre-norm blocks
  }
  Value y = normalize(s, x);
  if (s.flip(0.3)) y = add_either_way(s, residual, y);
  s.keep(y);
  return true;
}

}  // namespace fusesmith

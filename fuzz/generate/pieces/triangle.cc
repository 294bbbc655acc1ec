// The triangle multiplication block of AlphaFold 2 (supplement, algorithms 11 and 12): norm, two gated
// projections, mask, product of the two halves over the third index, norm, gated output, residual.
#include "fuzz/generate/pieces/pieces.h"

namespace fusesmith::fuzz {
namespace {

// value * sigmoid(gate); the two projections share only their input.
Value gated_projection(Scene& s, Value x, Value gate_from, int64_t n) {
  const Value value = project(s, x, n), gate = s.op(Sigmoid{}, {project(s, gate_from, n)});
  return s.flip(0.7) ? s.op(Mul{}, {value, gate}) : s.op(Mul{}, {gate, value});
}

// Sets masked pairs to 0, by multiplication with 0 or 1, or by masked_fill.
Value masked_pairs(Scene& s, Value x) {
  const TensorType type = s.type(x);
  const Shape pairs = {type.shape[0], type.shape[1], type.shape[2], 1};
  const Value absent = s.mask(pairs, 0.3);
  if (s.flip(0.3)) return s.op(MaskedFill{0}, {x, absent});
  const Value zero = s.sketch.input("c", {type.dtype, {}}, Constant{0}),
              one = s.sketch.input("c", {type.dtype, pairs}, Constant{1});
  return s.op(Mul{}, {x, s.op(Where{}, {absent, zero, one})});
}

// x [b, n, n, 2 c] -> [b, n, n, c].
Value multiply_halves(Scene& s, Value x) {
  const int64_t channels = s.shape(x).back() / 2;
  Value left, right;
  if (s.flip(0.7)) {
    left = s.op(Chunk{s.flip() ? -1 : 3, 2}, {x});
    right = left + 1;
  } else {
    left = s.op(Slice{-1, 0, channels}, {x});
    right = s.op(Slice{-1, channels, 2 * channels}, {x});
  }
  if (s.flip(0.15)) std::swap(left, right);
  return s.op(Einsum{s.flip(0.6) ? "bikd,bjkd->bijd" : "bkid,bkjd->bijd"}, {left, right});
}

}  // namespace

bool add_triangle(Scene& s) {
  const int64_t n = s.dim(24), channels = s.flip() ? std::min<int64_t>(s.width, 32) : s.dim(32);
  const Value x = s.like({s.dtype, {s.choices.between(1, 2), n, n, channels}});
  const Value normed = normalize(s, x);
  Value y = masked_pairs(s, gated_projection(s, normed, normed, 2 * channels));
  const bool upcast = s.dtype != Dtype::f32 && s.flip(0.7);
  if (upcast) y = s.op(Cast{Dtype::f32}, {y});
  y = normalize(s, multiply_halves(s, y));
  if (upcast) y = s.op(Cast{s.dtype}, {y});
  y = gated_projection(s, y, normed, channels);
  s.keep(add_either_way(s, s.flip() ? normed : x, y));
  return true;
}

}  // namespace fusesmith::fuzz

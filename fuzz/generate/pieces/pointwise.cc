// Random pointwise graphs with fan-out and broadcasting, residual sums, and casts between float dtypes.
#include <array>

#include "fuzz/generate/pieces/pieces.h"

namespace fusesmith::fuzz {
namespace {

Value constant(Scene& s, Dtype dtype, double value) {
  return s.sketch.input("c", {dtype, {}}, Constant{value});
}

// A value that is positive everywhere (unless x contains NaN), computed from x as models do.
Value above_zero(Scene& s, Value x) {
  const Dtype dtype = s.type(x).dtype;
  switch (s.choices.below(3)) {
    case 1:
      return s.op(Sigmoid{}, {x});
    case 2:
      return s.op(Maximum{}, {x, constant(s, dtype, s.choices.pick({0.5, 0.125}))});
    default: {
      const Value square = s.op(Mul{}, {x, x});
      return s.op(Add{}, {square, constant(s, dtype, s.choices.pick({1.0, 0.125, 1e-3}))});
    }
  }
}

Value function(Scene& s, Value x) {
  switch (s.choices.below(5)) {
    case 1:
      return s.op(Softcap{s.choices.pick({30.0, 50.0, 5.0, 1.0})}, {x});
    case 2:
      if (s.sketch.magnitude(x).rms > 2) x = s.op(Tanh{}, {x});
      return s.op(Exp{}, {x});
    case 3:
      return s.op(Sqrt{}, {s.flip(0.95) ? above_zero(s, x) : x});
    case 4:
      return s.op(Rsqrt{}, {s.flip(0.95) ? above_zero(s, x) : x});
    default:
      return s.op(Tanh{}, {x});
  }
}

Value unary(Scene& s, Value x) {
  if (s.flip(0.5)) return activate(s, x);
  if (s.flip(0.5)) return function(s, x);
  const double factor = s.choices.pick({0.5, 2.0, 0.1, -1.0, 3.0, 0.7071});
  return s.op(Scale{factor, s.flip(0.3)}, {x});
}

Value binary(Scene& s, Value a, Value b) {
  switch (s.choices.below(6)) {
    case 1:
      return s.op(Sub{}, {a, b});
    case 2:
    case 3:
      return s.op(Mul{}, {a, b});
    case 4: {
      // Usually the denominator is away from 0, but any denominator is valid.
      const Value d = s.flip(0.95) ? s.denominator(s.type(b)) : b;
      return s.op(Div{}, {a, d});
    }
    case 5:
      return s.op(Maximum{}, {a, b});
    default:
      return s.op(Add{}, {a, b});
  }
}

}  // namespace

bool add_residual(Scene& s) {
  const Value a = s.any(1, 5), b = s.like(s.type(a));
  if (a == b) return false;
  s.keep(add_either_way(s, a, b));
  return true;
}

bool add_pointwise(Scene& s) {
  std::vector<Value> local = {s.any(1, 5)};
  const int64_t count = s.choices.between(2, 8);
  for (int64_t i = 0; i < count; ++i) {
    const auto n = static_cast<int64_t>(local.size());
    const Value a = local[static_cast<size_t>(s.flip(0.7) ? n - 1 : s.choices.below(n))];
    if (s.flip(0.4)) {
      local.push_back(unary(s, a));
      continue;
    }
    const Value b = s.flip(0.4) ? local[static_cast<size_t>(s.choices.below(n))] : s.broadcastable(s.type(a));
    const bool swapped = s.type(b) != s.type(a) && s.flip(0.3);
    local.push_back(swapped ? binary(s, b, a) : binary(s, a, b));
  }
  s.keep(local.back());
  return true;
}

bool add_cast(Scene& s) {
  const Value x = s.any(1, 5);
  const Dtype from = s.type(x).dtype;
  std::vector<Dtype> others;
  for (Dtype dtype : kFloatDtypes) {
    if (dtype != from || s.flip(0.05)) others.push_back(dtype);
  }
  Value y = s.op(Cast{s.choices.pick(std::span<const Dtype>(others))}, {x});
  if (s.flip(0.4)) y = s.flip() ? unary(s, y) : normalize(s, y);
  if (s.flip(0.5)) {
    if (s.flip(0.3)) s.keep(y);
    y = s.op(Cast{from}, {y});
  }
  s.keep(y);
  return true;
}

}  // namespace fusesmith::fuzz

// Exact data for softmax, norms, variances, saturating functions and roots: constant rows made from live
// values; rows of a Hadamard matrix, whose variance is a power of four; values that are large enough for
// functions to saturate.
#include <cmath>

#include "fuzz/generate/pieces/pieces.h"

namespace fusesmith::fuzz {
namespace {

constexpr Grid kZeros{0, 0, true};

Grid on_either(const Grid& a, const Grid& b) {
  return {std::min(a.step, b.step), std::max(a.largest, b.largest)};
}

// Rows of n equal elements: the reduction of x over its last axis, repeated n times.
Value flat_rows(Scene& s, Value x, int64_t n) {
  const Value one = s.flip(0.7) ? s.op(ReduceMax{{-1}, true}, {x}) : s.op(ReduceSum{{-1}, true}, {x});
  Shape shape = s.shape(one);
  shape.back() = n;
  return s.op(BroadcastTo{shape}, {one});
}

// softmax as separate ops: exp(x - max) / sum.
Value softmax_by_hand(Scene& s, Value x, int n_log2) {
  const Grid ones{0, 1, true};
  const Value shifted = s.op(Sub{}, {x, s.op(ReduceMax{{-1}, true}, {x})}, kZeros);
  const Value e = s.op(Exp{}, {shifted}, ones);
  const Value sum = s.op(ReduceSum{{-1}, true}, {e}, Grid{n_log2, std::ldexp(1.0, n_log2), true});
  return s.op(Div{}, {e, sum});
}

// Normalises x [..., n], whose deviations from the mean lie on the grid `normal`, with or without weight
// and bias.
Value normalized(Scene& s, const Op& op, Value x, int64_t channels, bool may_have_bias, Grid normal) {
  const TensorType affine{s.type(x).dtype, {channels}};
  std::vector<Value> inputs = {x};
  if (s.flip(0.7)) {
    const Value w = s.gain(affine);
    inputs.push_back(w);
    normal = {normal.step + s.sketch.grid(w).step, normal.largest * s.sketch.grid(w).largest};
  }
  if (may_have_bias && inputs.size() == 2 && s.flip(0.8)) {
    const Value b = s.bias(affine);
    inputs.push_back(b);
    normal = {std::min(normal.step, s.sketch.grid(b).step), normal.largest + s.sketch.grid(b).largest};
  }
  return s.op(op, inputs, normal);
}

double random_eps(Scene& s) { return s.choices.pick({1e-5, 1e-6, 1e-8}); }

}  // namespace

bool add_flat_rows(Scene& s) {
  const int n_log2 = static_cast<int>(s.choices.between(0, 9));
  const int64_t n = int64_t{1} << n_log2;
  const Value x = flat_rows(s, s.any(1, 4), n);
  const Shape shape = s.shape(x);
  switch (s.choices.below(5)) {
    case 1:
      s.keep(normalized(s, LayerNorm{random_eps(s)}, x, n, true, kZeros));
      return true;
    case 2: {
      if (shape.size() != 3) return false;  // one group is one row
      s.keep(normalized(s, GroupNorm{shape[1], random_eps(s)}, x, shape[1], true, kZeros));
      return true;
    }
    case 3: {
      const Value var =
          s.op(VarMean{{-1}, s.flip() && n > 1 ? 1 : 0, s.flip()}, {x}, on_either(s.sketch.grid(x), kZeros));
      s.keep(var);
      s.keep(var + 1);
      return true;
    }
    case 4:
      s.keep(softmax_by_hand(s, x, n_log2));
      return true;
    default:
      s.keep(s.op(Softmax{-1}, {x}, Grid{-n_log2, std::ldexp(1.0, -n_log2), true}));
      return true;
  }
}

// The first row of each matrix is constant, the others have the mean 0.
bool add_spread_rows(Scene& s) {
  const double value = s.choices.pick({16.0, 32.0, 64.0});
  const int64_t n = int64_t{1} << s.choices.between(4, 8);
  const Shape shape = {s.batch, s.dim(16), n};
  const Value x = s.sketch.input("x", {s.dtype, shape}, Hadamard{value, std::min<int64_t>(n, 64), s.flip()});
  const Grid signs{0, 1};
  switch (s.choices.below(3)) {
    case 1:
      s.keep(normalized(s, GroupNorm{shape[1], random_eps(s)}, x, shape[1], true, signs));
      return true;
    case 2: {
      const Value var = s.op(VarMean{{-1}, 0, s.flip()}, {x}, Grid{std::ilogb(value), value * value});
      s.keep(var);
      s.keep(var + 1);
      return true;
    }
    default:
      s.keep(normalized(s, RmsNorm{random_eps(s)}, x, n, false, signs));
      return true;
  }
}

// x is scaled until all nonzero elements saturate; then a function; then scaled back if it was a ramp
// (relu, gelu, silu).
bool add_saturation(Scene& s) {
  const Value x = s.any(1, 5);
  const int shift = 7 - s.sketch.grid(x).step;
  const double up = std::ldexp(1.0, shift), down = std::ldexp(1.0, -shift);
  const auto function = s.choices.below(7);
  if (function == 6) {  // e^0 and e^-128 or less
    const Value right = s.op(Relu{}, {x});
    s.keep(s.op(Exp{}, {s.op(Scale{-up}, {right})}, Grid{0, 1}));
    return true;
  }
  const Value far = s.op(Scale{up}, {x});
  switch (function) {
    case 1:
      s.keep(s.op(Sigmoid{}, {far}));
      return true;
    case 2:
      s.keep(s.op(Softcap{s.choices.pick({1.0, 0.5, 0.75})}, {far}));
      return true;
    case 3:
      s.keep(s.op(Scale{down}, {s.op(Silu{}, {far})}));
      return true;
    case 4:
      s.keep(s.op(Scale{down}, {s.op(Gelu{Gelu::Form::erf}, {far})}));
      return true;
    case 5:
      s.keep(s.op(Scale{down}, {s.op(Gelu{Gelu::Form::tanh}, {far})}));
      return true;
    default:
      s.keep(s.op(Tanh{}, {far}));
      return true;
  }
}

// sqrt(x x), or x / sqrt(4^k).
bool add_roots(Scene& s) {
  const Value x = s.any(1, 5);
  if (s.flip()) {
    s.keep(s.op(Sqrt{}, {s.op(Mul{}, {x, x})}, s.sketch.grid(x)));
    return true;
  }
  const int k = static_cast<int>(s.choices.between(-1, 2));
  const TensorType type{s.type(x).dtype, s.flip() ? Shape{} : s.shape(x)};
  const Value c = s.sketch.input("c", type, Constant{std::ldexp(1.0, 2 * k)});
  const Value r = s.op(Rsqrt{}, {c}, Grid{-k, std::ldexp(1.0, -k), true});
  s.keep(s.op(Mul{}, {x, r}));
  return true;
}

}  // namespace fusesmith::fuzz

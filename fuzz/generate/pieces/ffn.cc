// Feed-forward layers, activations and gates.
#include "fuzz/generate/pieces/pieces.h"

namespace fusesmith::fuzz {

Value activate(Scene& s, Value x) {
  switch (s.choices.below(6)) {
    case 1:
      return s.op(Gelu{Gelu::Form::erf}, {x});
    case 2:
      return s.op(Gelu{Gelu::Form::tanh}, {x});
    case 3:
      return s.op(Silu{}, {x});
    case 4:
      return s.op(Sigmoid{}, {x});
    default:
      return s.op(Relu{}, {x});
  }
}

namespace {

// activation(gate) * value in either order; the activation is sigmoid or silu (also written as x *
// sigmoid(x)).
Value gated(Scene& s, Value gate, Value value) {
  Value g;
  switch (s.choices.below(4)) {
    case 1:
      g = s.op(Silu{}, {gate});
      break;
    case 2:
      g = s.op(Mul{}, {gate, s.op(Sigmoid{}, {gate})});
      break;
    case 3:
      g = activate(s, gate);
      break;
    default:
      g = s.op(Sigmoid{}, {gate});
  }
  return s.flip() ? s.op(Mul{}, {g, value}) : s.op(Mul{}, {value, g});
}

}  // namespace

Value feed_forward(Scene& s, Value x) {
  const int64_t width = s.shape(x).back(), hidden = s.flip() ? s.dim() : std::min<int64_t>(4 * width, 256);
  Value h = project(s, x, hidden);
  if (s.flip(0.75)) {
    h = activate(s, h);
  } else {
    const Value other = project(s, x, hidden);
    h = gated(s, h, other);
  }
  if (s.flip(0.15)) h = s.op(Dropout{}, {h});
  return project(s, h, width);
}

bool add_ffn(Scene& s) {
  const Value x = s.any(1, 4);
  const bool pre_norm = s.flip(0.4);
  const Value y = feed_forward(s, pre_norm ? normalize(s, x) : x);
  s.keep(s.flip(0.6) ? add_either_way(s, x, y) : y);
  return true;
}

bool add_gate(Scene& s) {
  const Value x = s.any(1, 4);
  const int64_t n = s.flip() ? s.shape(x).back() : s.dim();
  const Value gate = s.flip(0.7) ? project(s, x, n) : s.like(s.type(x));
  const Value value = s.flip(0.7) ? project(s, x, s.shape(gate).back()) : s.like(s.type(gate));
  s.keep(gated(s, gate, value));
  return true;
}

}  // namespace fusesmith::fuzz

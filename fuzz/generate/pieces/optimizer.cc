// Optimizer steps: parameters and their moments are states that a gradient updates (SGD; Adam, Kingma and Ba
// 2015; AdamW, Loshchilov and Hutter 2019, which takes the decay out of the gradient).
#include "fuzz/generate/pieces/pieces.h"

namespace fusesmith::fuzz {
namespace {

constexpr double kRate = 0.125, kDecay = 0.0625;

Value scaled(Scene& s, Value x, double factor) { return s.op(Scale{factor}, {x}); }

// x + factor y.
Value plus(Scene& s, Value x, double factor, Value y) { return s.op(Add{}, {x, scaled(s, y, factor)}); }

void carry(Scene& s, Value old, Value next) {
  s.sketch.set_next(old, next);
  if (s.flip(0.3)) s.keep(next);
}

// What is subtracted from the parameters, before it is multiplied by the rate.
Value sgd_step(Scene& s, Value gradient) {
  const Value momentum = s.state(s.type(gradient));
  const Value next = s.op(Add{}, {scaled(s, momentum, 0.875), gradient});
  carry(s, momentum, next);
  return s.flip(0.3) ? plus(s, gradient, 0.875, next) : next;  // Nesterov's
}

Value adam_step(Scene& s, Value gradient) {
  const TensorType type = s.type(gradient);
  const Value first = s.state(type), second = s.sketch.state("v", type, Constant{0});
  const Value mean = plus(s, scaled(s, first, 0.875), 0.125, gradient);
  const Value square = s.op(Mul{}, {gradient, gradient});
  const Value squares = plus(s, scaled(s, second, 0.9375), 0.0625, square);
  carry(s, first, mean);
  carry(s, second, squares);
  const Value eps = s.sketch.input("eps", {type.dtype, {}}, Constant{0.0078125});
  return s.op(Div{}, {mean, s.op(Add{}, {s.op(Sqrt{}, {squares}), eps})});
}

}  // namespace

bool add_optimizer(Scene& s) {
  Value gradient = s.any(1, 4);
  const Value parameters = s.state(s.type(gradient));
  const bool decays = s.flip();
  const bool decoupled = s.flip();
  if (decays && !decoupled) gradient = plus(s, gradient, kDecay, parameters);
  const Value step = s.flip(0.3) ? sgd_step(s, gradient) : adam_step(s, gradient);
  Value kept = parameters;
  if (decays && decoupled) kept = scaled(s, parameters, 1 - kRate * kDecay);
  const Value next = plus(s, kept, -kRate, step);
  s.sketch.set_next(parameters, next);
  s.keep(next);
  return true;
}

}  // namespace fusesmith::fuzz

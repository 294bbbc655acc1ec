// For tests: ops that compute or choose each element from those at the same place.
#pragma once

#include "graph/op_tests/op_test.h"

namespace fusesmith::graph::op_tests {

inline std::vector<OpCase> pointwise_cases() {
  return {
      {Add{}, {f({4, 5}), f({4, 5})}},
      {Add{}, {f({}), f({})}},
      {Add{}, {f({3, 1, 5}), f({4, 1})}},
      {Sub{}, {f({2, 3}), f({3})}},
      {Sub{}, {f({}), f({2, 3})}},
      {Mul{}, {f({5, 1}), f({1, 6})}},
      {Div{}, {f({2, 1, 3, 1}), f({4, 1, 5})}},
      {Maximum{}, {f({3, 1, 5}), f({4, 1})}},
      {Scale{0.1}, {f({7})}},
      {Scale{3, true}, {f({2, 2})}},
      {Relu{}, {f({50})}},
      {Gelu{Gelu::Form::erf}, {f({50})}},
      {Gelu{Gelu::Form::tanh}, {f({50})}},
      {Silu{}, {f({50})}},
      {Sigmoid{}, {f({5, 10})}},
      {Tanh{}, {f({50})}},
      {Erf{}, {f({50})}},
      {Exp{}, {f({50})}},
      {Log{}, {f({50})}},
      {Sqrt{}, {f({5, 10})}},
      {Rsqrt{}, {f({50})}},
      {Softcap{}, {f({50})}},
      {Softcap{0.3}, {f({50})}},
      {Cast{Dtype::f32}, {f({3, 3})}},
      {Cast{Dtype::f16}, {f({3, 3})}},
      {Cast{Dtype::bf16}, {f({3, 3})}},
      {Cast{Dtype::bf16}, {indices({9})}},
      {Cast{Dtype::f32}, {mask({9})}},
      {Cast{Dtype::f8e4m3, Overflow::saturate}, {f({40, 9})}},
      {Cast{Dtype::f8e5m2}, {f({40, 9})}},
      {Cast{Dtype::f4e2m1}, {f({40, 9})}},
      {Cast{Dtype::s8}, {f({9})}},
      {Cast{Dtype::s4}, {indices({9})}},
      {Cast{Dtype::f32}, {{Dtype::f8e5m2, {40, 9}}}},
      {Cast{Dtype::bf16}, {{Dtype::s4, {7, 9}}}},
      {ReluBackward{}, {f({4, 5}), f({4, 5})}},
      {ReluBackward{}, {f({3, 1, 5}), f({4, 1})}},
      {Where{}, {mask({4, 5}), f({4, 5}), f({4, 5})}},
      {Where{}, {mask({3, 1}), f({}), f({2, 1, 5})}},
      {MaskedFill{-std::numeric_limits<double>::infinity()}, {f({2, 4, 5}), mask({4, 1})}},
      {MaskedFill{-4, true}, {f({4, 5}), mask({5})}},
      {MaskedFill{1}, {f({}), mask({})}},
  };
}

// 0 and the ends where functions have saturated; powers of four under roots.
inline std::vector<ExactCase> exact_pointwise() {
  const Fill grid = Lattice{8, -1}, ends = Lattice{2, 7};
  return {{Add{}, {{{3, 5}, grid}, {{5}, grid}}},
          {Sub{}, {{{3, 5}, grid}, {{3, 1}, grid}}},
          {Mul{}, {{{3, 5}, grid}, {{5}, grid}}},
          {Div{}, {{{3, 5}, grid}, {{}, Constant{4}}}},
          {Maximum{}, {{{3, 5}, Normal{}}, {{5}, Normal{}}}},
          {Scale{0.5}, {{{20}, grid}}},
          {Scale{-8, true}, {{{20}, grid}}},
          {Relu{}, {{{20}, Normal{}}}},
          {ReluBackward{}, {{{3, 5}, Normal{}}, {{5}, Normal{}}}},
          {Gelu{Gelu::Form::erf}, {{{20}, ends}}},
          {Gelu{Gelu::Form::tanh}, {{{20}, ends}}},
          {Silu{}, {{{20}, ends}}},
          {Sigmoid{}, {{{20}, ends}}},
          {Tanh{}, {{{20}, ends}}},
          {Softcap{0.75}, {{{20}, ends}}},
          {Erf{}, {{{20}, ends}}},
          {Exp{}, {{{20}, OneHot{3, -128}}}},
          {Log{}, {{{20}, Constant{1}}}},
          {Sqrt{}, {{{20}, OneHot{3, 2.25}}}},
          {Rsqrt{}, {{{20}, Constant{0.0625}}}},
          {Cast{Dtype::bf16}, {{{20}, Normal{}}}},
          {Cast{Dtype::f8e4m3, Overflow::saturate}, {{{20}, Normal{0, 300}}}},
          {Cast{Dtype::f4e2m1}, {{{20}, Normal{0, 3}}}},
          {Cast{Dtype::s8}, {{{20}, Normal{0, 80}}}},
          {Cast{Dtype::f8e8m0, Overflow::special, Rounding::up}, {{{20}, Uniform{0.01, 100}}}},
          {Where{}, {{{20}, Bernoulli{}, Dtype::boolean}, {{20}, Normal{}}, {{20}, Normal{}}}},
          {MaskedFill{-2.5}, {{{4, 5}, Normal{}}, {{5}, Bernoulli{}, Dtype::boolean}}}};
}

inline std::vector<SpecialCase> special_arithmetic(Dtype dtype) {
  [[maybe_unused]] const double max = max_finite(dtype), tiny = smallest_subnormal(dtype);
  return {binary(Add{}, {inf, inf, nan, max, tiny, tiny}, {-inf, inf, 1, max, tiny, -tiny},
                 {nan, inf, nan, inf, 2 * tiny, 0}),
          binary(Sub{}, {inf, inf, nan, max, tiny}, {inf, -inf, 1, -max, tiny}, {nan, inf, nan, inf, 0}),
          binary(Mul{}, {inf, 0, inf, max, tiny, nan}, {0, -inf, -2, 2, 2, 0},
                 {nan, nan, -inf, inf, 2 * tiny, nan}),
          binary(Div{}, {1, -1, 0, inf, inf, 1, tiny, nan}, {0, 0, 0, inf, 0, inf, tiny, 1},
                 {inf, -inf, nan, nan, inf, 0, 1, nan}),
          binary(Maximum{}, {nan, 1, -inf, inf, tiny}, {1, nan, inf, -inf, 0}, {nan, nan, inf, inf, tiny}),
          binary(ReluBackward{}, {inf, nan, nan, -inf, max, 2, tiny}, {1, 0, -inf, nan, tiny, -0.0, inf},
                 {inf, 0, 0, -inf, max, 0, tiny}),
          unary(Scale{0}, {inf, nan, max}, {nan, nan, 0}),
          unary(Scale{2}, {max, tiny, -inf}, {inf, 2 * tiny, -inf})};
}

inline std::vector<SpecialCase> special_functions(Dtype dtype) {
  [[maybe_unused]] const double max = max_finite(dtype), tiny = smallest_subnormal(dtype);
  const Row x = {nan, inf, -inf, 0, max, -max};
  const Row ramp = {nan, inf, nan, 0, max, 0};
  return {unary(Relu{}, {nan, inf, -inf, -0.0, tiny, -tiny}, {nan, inf, 0, 0, tiny, 0}),
          unary(Gelu{Gelu::Form::erf}, x, ramp),
          unary(Gelu{Gelu::Form::tanh}, x, ramp),
          unary(Silu{}, x, ramp),
          unary(Sigmoid{}, x, {nan, 1, 0, 0.5, 1, 0}),
          unary(Tanh{}, x, {nan, 1, -1, 0, 1, -1}),
          unary(Softcap{2}, x, {nan, 2, -2, 0, 2, -2}),
          unary(Erf{}, x, {nan, 1, -1, 0, 1, -1}),
          unary(Exp{}, x, {nan, inf, 0, 1, inf, 0}),
          unary(Sqrt{}, {nan, inf, -inf, -1, -0.0}, {nan, inf, nan, nan, 0}),
          unary(Log{}, {nan, inf, -inf, -1, 0, -0.0, 1}, {nan, inf, nan, nan, -inf, -inf, 0}),
          unary(Rsqrt{}, {nan, inf, -inf, -1, 0, -0.0}, {nan, 0, nan, nan, inf, -inf})};
}

inline std::vector<SpecialCase> special_selection(Dtype dtype) {
  [[maybe_unused]] const double max = max_finite(dtype), tiny = smallest_subnormal(dtype);
  const SpecialInput flags{{4}, {1, 0, 1, 0}, Dtype::boolean};
  return {{Where{}, {flags, row({1, nan, nan, -inf}), row({nan, tiny, 3, inf})}, {{1, tiny, nan, inf}}},
          {MaskedFill{-inf}, {row({nan, inf, 1, tiny}), flags}, {{-inf, inf, -inf, tiny}}},
          unary(Cast{Dtype::bf16}, {nan, inf, -inf, max, tiny}, {nan, inf, -inf, max, tiny}),
          unary(Cast{Dtype::f8e4m3}, {nan, inf, -inf, 464, -480, 0x1p-10, -0x1p-9},
                {nan, nan, nan, 448, nan, 0, -0x1p-9}),
          unary(Cast{Dtype::f8e4m3, Overflow::saturate}, {nan, inf, -inf, 464, -480},
                {nan, 448, -448, 448, -448}),
          unary(Cast{Dtype::f8e5m2}, {nan, inf, -inf, 57344, -61440}, {nan, inf, -inf, 57344, -inf}),
          unary(Cast{Dtype::f8e5m2, Overflow::saturate}, {nan, inf, -61440}, {nan, 57344, -57344}),
          unary(Cast{Dtype::f8e8m0}, {nan, inf, 1.5, 0.75, 1.25}, {nan, nan, 2, 1, 1}),
          unary(Cast{Dtype::f8e8m0, Overflow::special, Rounding::up}, {1.25, 1, 0.625}, {2, 1, 1}),
          unary(Cast{Dtype::f8e8m0, Overflow::special, Rounding::down}, {1.75, 1, 0.875}, {1, 1, 0.5}),
          unary(Cast{Dtype::f4e2m1}, {inf, -inf, 5, 2.5, -0.25, 100}, {6, -6, 4, 2, 0, 6}),
          unary(Cast{Dtype::s8}, {inf, -inf, 2.5, 3.5, -0.5, 300}, {127, -128, 2, 4, 0, 127}),
          unary(Cast{Dtype::s4}, {inf, -inf, 2.5, -8.5, 7.5}, {7, -8, 2, -8, 7})};
}

inline Values zip(const Args& x, const Shape& shape, const std::function<double(double, double)>& f) {
  return generate(shape, [&](const Index& i) { return f(x[0].broadcast_at(i), x[1].broadcast_at(i)); });
}
inline Values each(const Args& x, const Shape& shape, const std::function<double(double)>& f) {
  return generate(shape, [&](const Index& i) { return f(x[0].at(i)); });
}
inline Values eval(const Add&, const Args& x, const Shape& shape) { return zip(x, shape, std::plus<>()); }
inline Values eval(const Sub&, const Args& x, const Shape& shape) { return zip(x, shape, std::minus<>()); }
inline Values eval(const Mul&, const Args& x, const Shape& shape) {
  return zip(x, shape, std::multiplies<>());
}

inline Values eval(const Div&, const Args& x, const Shape& shape) { return zip(x, shape, std::divides<>()); }
inline Values eval(const Maximum&, const Args& x, const Shape& shape) {
  return zip(x, shape, [](double a, double b) { return a > b || std::isnan(a) ? a : b; });
}

inline Values eval(const Scale& op, const Args& x, const Shape& shape) {
  const double factor = static_cast<double>(static_cast<float>(op.factor));
  return each(x, shape, [&](double v) { return op.inverse ? v / factor : v * factor; });
}

inline Values eval(const Relu&, const Args& x, const Shape& shape) {
  return each(x, shape, [](double v) { return std::isnan(v) ? v : std::max(v, 0.0); });
}

inline Values eval(const ReluBackward&, const Args& x, const Shape& shape) {
  return zip(x, shape, [](double dy, double v) { return v <= 0 ? 0.0 : dy; });
}

inline Values eval(const Gelu& op, const Args& x, const Shape& shape) {
  return each(x, shape, [&](double v) {
    if (op.form == Gelu::Form::erf) return 0.5 * v * std::erfc(-v * std::sqrt(0.5));
    return 0.5 * v * (1 + std::tanh(std::sqrt(2 / std::acos(-1.0)) * (v + 0.044715 * v * v * v)));
  });
}

inline Values eval(const Silu&, const Args& x, const Shape& shape) {
  return each(x, shape, [](double v) { return v / (1 + std::exp(-v)); });
}

inline Values eval(const Sigmoid&, const Args& x, const Shape& shape) {
  return each(x, shape, [](double v) { return 1 / (1 + std::exp(-v)); });
}

inline Values eval(const Tanh&, const Args& x, const Shape& shape) {
  return each(x, shape, [](double v) { return std::tanh(v); });
}

inline Values eval(const Erf&, const Args& x, const Shape& shape) {
  return each(x, shape, [](double v) { return std::erf(v); });
}

inline Values eval(const Exp&, const Args& x, const Shape& shape) {
  return each(x, shape, [](double v) { return std::exp(v); });
}

inline Values eval(const Log&, const Args& x, const Shape& shape) {
  return each(x, shape, [](double v) { return std::log(v); });
}

inline Values eval(const Sqrt&, const Args& x, const Shape& shape) {
  return each(x, shape, [](double v) { return std::sqrt(v); });
}

inline Values eval(const Rsqrt&, const Args& x, const Shape& shape) {
  return each(x, shape, [](double v) { return 1 / std::sqrt(v); });
}

inline Values eval(const Softcap& op, const Args& x, const Shape& shape) {
  return each(x, shape, [&](double v) { return op.cap * std::tanh(v / op.cap); });
}

inline Values eval(const Cast&, const Args& x, const Shape&) { return x[0]; }
inline Values eval(const Where&, const Args& x, const Shape& shape) {
  return generate(shape,
                  [&](const Index& i) { return x[x[0].broadcast_at(i) != 0 ? 1 : 2].broadcast_at(i); });
}

inline Values eval(const MaskedFill& op, const Args& x, const Shape& shape) {
  return generate(shape, [&](const Index& i) {
    return (x[1].broadcast_at(i) != 0) != op.inverted ? op.value : x[0].at(i);
  });
}

}  // namespace fusesmith::graph::op_tests

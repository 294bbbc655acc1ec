#include "fuzz/magnitude.h"

#include <algorithm>
#include <cmath>

namespace fusesmith {
namespace {

template <class... F>
struct Overload : F... {
  using F::operator()...;
};
template <class... F>
Overload(F...) -> Overload<F...>;

int64_t count(const TensorType& type) { return element_count(type); }

int64_t einsum_operations(const Einsum& op, TypeSpan inputs) {
  const auto labels = parse_equation(op.equation);
  const auto sizes = label_sizes(*labels, inputs[0].shape, inputs[1].shape, labels->out + labels->summed);
  return element_count(*sizes);
}

// Terms in each sum of a product op.
double terms_of(const Op& op, TypeSpan inputs, const TensorType& output) {
  return static_cast<double>(work_of(op, inputs, output).operations) / static_cast<double>(count(output));
}

// IEEE operations alone: the choices that follow must be the same on every platform.
double root_sum(std::span<const Magnitude> m) { return std::sqrt(m[0].rms * m[0].rms + m[1].rms * m[1].rms); }

Magnitude combined(std::span<const Magnitude> inputs) {
  Magnitude m{0, true, true};
  for (const Magnitude& in : inputs) {
    m.rms = std::max(m.rms, in.rms);
    m.finite = m.finite && in.finite;
    m.one_signed = m.one_signed && in.one_signed;
  }
  return m;
}

// Of e^x for normal x of this size: e^(rms^2), as a power of two near it. Beyond 3, some overflow f16.
Magnitude exponential(const Magnitude& x) {
  return {std::ldexp(1.0, static_cast<int>(std::min(1.5 * x.rms * x.rms, 100.0))), x.finite && x.rms < 3,
          true};
}

}  // namespace

Magnitude magnitude_of(const Fill& fill) {
  return std::visit(
      Overload{
          [](const Normal& f) {
            return Magnitude{std::abs(f.mean) + f.stddev, true, std::abs(f.mean) > f.stddev};
          },
          [](const Uniform& f) {
            return Magnitude{std::max(std::abs(f.lo), std::abs(f.hi)) * 0.58, true, f.lo * f.hi >= 0};
          },
          [](const Lattice& f) {
            return Magnitude{std::ldexp(0.6 * static_cast<double>(f.max_abs), static_cast<int>(f.exponent))};
          },
          [](const Special& f) {
            return Magnitude{2, !f.infinities};
          },
          [](const Constant& f) {
            return Magnitude{std::abs(f.value), std::isfinite(f.value), true};
          },
          [](const auto&) { return Magnitude{}; },
      },
      fill);
}

Magnitude magnitude_of(const Op& op, std::span<const Magnitude> inputs, TypeSpan input_types,
                       const TensorType& output) {
  const Magnitude all = combined(inputs);
  const auto unit = [&](bool one_signed) { return Magnitude{1, all.finite, one_signed}; };
  const auto product = [&](const auto& x) {
    const double terms = terms_of(x, input_types, output);
    const bool one_signed = inputs[0].one_signed && inputs[1].one_signed;
    return Magnitude{inputs[0].rms * inputs[1].rms * (one_signed ? terms : std::sqrt(terms)), all.finite,
                     one_signed};
  };
  return std::visit(
      Overload{
          [&](const Einsum& x) { return product(x); },
          [&](const Matmul& x) { return product(x); },
          [&](const Linear& x) { return product(x); },
          [&](const Mul&) {
            return Magnitude{inputs[0].rms * inputs[1].rms, all.finite, all.one_signed};
          },
          [&](const Div&) {
            return Magnitude{inputs[0].rms / std::max(inputs[1].rms, 0.01),
                             all.finite && inputs[1].one_signed, all.one_signed};
          },
          [&](const Scale& x) {
            const double factor = std::abs(x.inverse ? 1 / x.factor : x.factor);
            return Magnitude{all.rms * factor, all.finite, all.one_signed};
          },
          [&](const Add&) {
            return Magnitude{root_sum(inputs), all.finite, all.one_signed};
          },
          [&](const Sub&) {
            return Magnitude{root_sum(inputs), all.finite, false};
          },
          [&](const Relu&) {
            return Magnitude{all.rms, all.finite, true};
          },
          [&](const Sigmoid&) { return unit(true); },
          [&](const Tanh&) { return unit(all.one_signed); },
          [&](const Exp&) { return exponential(all); },
          [&](const Sqrt&) {
            return Magnitude{std::sqrt(all.rms), all.finite && all.one_signed, true};
          },
          [&](const Rsqrt&) {
            return Magnitude{1 / std::sqrt(std::max(all.rms, 1e-4)), all.finite && all.one_signed, true};
          },
          [&](const Softcap& x) {
            return Magnitude{std::min(all.rms, x.cap), all.finite, all.one_signed};
          },
          // A row of -inf alone is NaN, but a hidden key here and there is what softmax is for.
          [&](const Softmax&) {
            return Magnitude{1, true, true};
          },
          [&](const LayerNorm&) { return unit(false); },
          [&](const MaskedFill& x) {
            return Magnitude{all.rms, all.finite && std::isfinite(x.value), false};
          },
          [&](const Cast&) { return all; },
          [&](const auto&) { return all; },
      },
      op);
}

Work work_of(const Op& op, TypeSpan inputs, const TensorType& output) {
  const int64_t out = count(output);
  const int64_t operations = std::visit(
      Overload{
          [&](const Einsum& x) { return einsum_operations(x, inputs); },
          [&](const Matmul& x) { return out * (inputs[0].shape.end() - (x.transpose_a ? 2 : 1))[0]; },
          [&](const Linear&) { return out * inputs[0].shape.back(); },
          [&](const Sdpa&) { return (out + count(inputs[0])) * (inputs[1].shape.end() - 2)[0]; },
          [&](const auto&) { return out; },
      },
      op);
  int64_t elements = out;
  if (std::holds_alternative<Sdpa>(op)) {  // scores, scaled, masked, probabilities
    elements += 4 * count(inputs[0]) / inputs[0].shape.back() * (inputs[1].shape.end() - 2)[0];
  }
  return {operations, elements};
}

}  // namespace fusesmith

#include "fuzz/generate/magnitude.h"

#include <algorithm>
#include <cmath>

namespace fusesmith::fuzz {
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

// By op; one without an overload keeps the size of its inputs.
struct OpMagnitude {
  std::span<const Magnitude> inputs;
  TypeSpan types;
  const TensorType& output;
  Magnitude all;

  Magnitude unit(bool one_signed) const { return {1, all.finite, one_signed}; }
  Magnitude scaled(double factor) const { return {all.rms * factor, all.finite, all.one_signed}; }
  Magnitude product(const Op& op) const {
    const double terms = terms_of(op, types, output);
    const bool one_signed = inputs[0].one_signed && inputs[1].one_signed;
    return {inputs[0].rms * inputs[1].rms * (one_signed ? terms : std::sqrt(terms)), all.finite, one_signed};
  }
  // Elements that a reduction makes one of.
  double reduced() const { return static_cast<double>(count(types[0])) / static_cast<double>(count(output)); }

  Magnitude operator()(const Einsum& op) const { return product(op); }
  Magnitude operator()(const Matmul& op) const { return product(op); }
  Magnitude operator()(const Linear& op) const { return product(op); }
  Magnitude operator()(const Mul&) const {
    return {inputs[0].rms * inputs[1].rms, all.finite, all.one_signed};
  }
  Magnitude operator()(const Div&) const {
    return {inputs[0].rms / std::max(inputs[1].rms, 0.01), all.finite && inputs[1].one_signed,
            all.one_signed};
  }
  Magnitude operator()(const Scale& op) const {
    return scaled(std::abs(op.inverse ? 1 / op.factor : op.factor));
  }
  Magnitude operator()(const Add&) const { return {root_sum(inputs), all.finite, all.one_signed}; }
  Magnitude operator()(const Sub&) const { return {root_sum(inputs), all.finite, false}; }
  Magnitude operator()(const Relu&) const { return {all.rms, all.finite, true}; }
  Magnitude operator()(const Sigmoid&) const { return unit(true); }
  Magnitude operator()(const Tanh&) const { return unit(all.one_signed); }
  Magnitude operator()(const Exp&) const { return exponential(all); }
  Magnitude operator()(const Sqrt&) const { return {std::sqrt(all.rms), all.finite && all.one_signed, true}; }
  Magnitude operator()(const Rsqrt&) const {
    return {1 / std::sqrt(std::max(all.rms, 1e-4)), all.finite && all.one_signed, true};
  }
  Magnitude operator()(const Softcap& op) const {
    return {std::min(all.rms, op.cap), all.finite, all.one_signed};
  }
  // A row of -inf alone is NaN, but a hidden key here and there is what softmax is for.
  Magnitude operator()(const Softmax&) const { return {1, true, true}; }
  Magnitude operator()(const LayerNorm&) const { return unit(false); }
  Magnitude operator()(const RmsNorm&) const { return unit(all.one_signed); }
  Magnitude operator()(const GroupNorm&) const { return unit(false); }
  Magnitude operator()(const ReduceSum&) const {
    return scaled(all.one_signed ? reduced() : std::sqrt(reduced()));
  }
  Magnitude operator()(const ReduceMean&) const {
    return scaled(all.one_signed ? 1 : 1 / std::sqrt(reduced()));
  }
  Magnitude operator()(const VarMean& op) const {  // of both: the larger
    const bool defined = reduced() > static_cast<double>(op.correction);
    return {std::max(all.rms, all.rms * all.rms), all.finite && defined, false};
  }
  Magnitude operator()(const MaskedFill& op) const {
    return {all.rms, all.finite && std::isfinite(op.value), false};
  }
  template <class T>
  Magnitude operator()(const T&) const {
    return all;
  }
};

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
          [](const Hadamard& f) { return Magnitude{std::abs(f.value)}; },
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
  return std::visit(OpMagnitude{inputs, input_types, output, combined(inputs)}, op);
}

Work work_of(const Op& op, TypeSpan inputs, const TensorType& output) {
  const int64_t out = count(output);
  const int64_t operations = std::visit(
      Overload{
          [&](const Einsum& x) { return einsum_operations(x, inputs); },
          [&](const Matmul& x) { return out * (inputs[0].shape.end() - (x.transpose_a ? 2 : 1))[0]; },
          [&](const Linear&) { return out * inputs[0].shape.back(); },
          [&](const ReduceSum&) { return count(inputs[0]); },
          [&](const ReduceMean&) { return count(inputs[0]); },
          [&](const ReduceMax&) { return count(inputs[0]); },
          [&](const VarMean&) { return count(inputs[0]); },
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

}  // namespace fusesmith::fuzz

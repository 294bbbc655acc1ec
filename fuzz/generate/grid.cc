#include "fuzz/generate/grid.h"

#include <algorithm>
#include <bit>
#include <cmath>

#include "fuzz/generate/magnitude.h"

namespace fusesmith::fuzz {
namespace {

using Found = std::optional<Grid>;

// The exponent of x's lowest bit; x is not 0.
int lowest_bit(double x) {
  int exponent = 0;
  const auto significand = static_cast<int64_t>(std::frexp(x, &exponent) * 0x1p53);
  return exponent - 53 + std::countr_zero(static_cast<uint64_t>(significand));
}

Grid around(double x) { return x == 0 ? Grid{0, 0, true} : Grid{lowest_bit(x), std::fabs(x), true}; }

bool is_power_of_two(double x) { return x > 0 && std::ldexp(1.0, std::ilogb(x)) == x; }

// Of elements of either.
Grid joined(const Grid& a, const Grid& b) {
  if (a.largest == 0) return {b.step, b.largest};
  if (b.largest == 0) return {a.step, a.largest};
  return {std::min(a.step, b.step), std::max(a.largest, b.largest)};
}

Grid sum_of(const Grid& a, const Grid& b) {
  const Grid either = joined(a, b);
  return {either.step, a.largest + b.largest};
}

Grid product_of(const Grid& a, const Grid& b) { return {a.step + b.step, a.largest * b.largest}; }

// A sum of so many such terms has no rounding in any order.
Found total(const Grid& term, double terms) {
  const Grid sum{term.step, term.largest * terms};
  if (sum.largest > std::ldexp(1.0, 24 + sum.step)) return std::nullopt;
  return sum;
}

// Nonzero elements are so far from 0 that functions have saturated.
bool saturates(const Grid& grid, double scale = 1) {
  return grid.largest == 0 || std::ldexp(1.0, grid.step) * scale >= 128;
}

// By op; one without an overload is not known to be exact.
struct OpGrid {
  std::span<const Grid> in;
  TypeSpan types;
  const TensorType& output;

  double reduced() const {
    return static_cast<double>(element_count(types[0])) / static_cast<double>(element_count(output));
  }
  Grid any(size_t first = 0) const {
    Grid grid = in[first];
    for (size_t i = first + 1; i < in.size(); ++i) grid = joined(grid, in[i]);
    return grid;
  }
  Found product(const Op& op) const {
    const double terms = static_cast<double>(work_of(op, types, output).operations) /
                         static_cast<double>(element_count(output));
    const Found sum = total(product_of(in[0], in[1]), terms);
    if (!sum || in.size() < 3) return sum;
    return total(sum_of(*sum, in[2]), 1);
  }
  Found scaled(double factor) const {
    if (factor == 0) return Grid{};
    return Grid{in[0].step + lowest_bit(factor), in[0].largest * std::fabs(factor)};
  }
  // Only zeros and the ends are left, or x itself.
  Found ramp() const { return saturates(in[0]) ? Found(in[0]) : std::nullopt; }

  Found operator()(const Einsum& op) const { return product(op); }
  Found operator()(const Matmul& op) const { return product(op); }
  Found operator()(const Linear& op) const { return product(op); }
  Found operator()(const Rope&) const { return total(product_of(in[0], joined(in[1], in[2])), 2); }
  Found operator()(const Add&) const { return sum_of(in[0], in[1]); }
  Found operator()(const Sub&) const { return sum_of(in[0], in[1]); }
  Found operator()(const Mul&) const { return product_of(in[0], in[1]); }
  Found operator()(const Div&) const {
    if (!in[1].constant || !is_power_of_two(in[1].largest)) return std::nullopt;
    return Grid{in[0].step - in[1].step, in[0].largest / in[1].largest};
  }
  Found operator()(const Scale& op) const {
    const auto factor = static_cast<double>(static_cast<float>(op.factor));
    if (!op.inverse) return scaled(factor);
    return is_power_of_two(std::fabs(factor)) ? scaled(1 / factor) : std::nullopt;
  }
  Found operator()(const Maximum&) const { return any(); }
  Found operator()(const Relu&) const { return any(); }
  Found operator()(const Gelu&) const { return ramp(); }
  Found operator()(const Silu&) const { return ramp(); }
  Found operator()(const Sigmoid&) const { return saturates(in[0]) ? Found(Grid{-1, 1}) : std::nullopt; }
  Found operator()(const Tanh&) const { return saturates(in[0]) ? Found(Grid{0, 1}) : std::nullopt; }
  Found operator()(const Softcap& op) const {
    const auto cap = static_cast<double>(static_cast<float>(op.cap));
    if (!saturates(in[0], 1 / cap)) return std::nullopt;
    return Grid{lowest_bit(cap), cap};
  }
  Found operator()(const ReduceSum&) const { return total(in[0], reduced()); }
  Found operator()(const ReduceMean&) const {
    const auto sum = total(in[0], reduced());
    if (!sum || !is_power_of_two(reduced())) return std::nullopt;
    return Grid{in[0].step - std::ilogb(reduced()), in[0].largest};
  }
  Found operator()(const ReduceMax&) const { return any(); }
  Found operator()(const Cast&) const { return any(); }
  Found operator()(const Dropout&) const { return any(); }
  Found operator()(const Reshape&) const { return any(); }
  Found operator()(const Permute&) const { return any(); }
  Found operator()(const Unsqueeze&) const { return any(); }
  Found operator()(const Squeeze&) const { return any(); }
  Found operator()(const BroadcastTo&) const { return any(); }
  Found operator()(const Slice&) const { return any(); }
  Found operator()(const Chunk&) const { return any(); }
  Found operator()(const Concat&) const { return any(); }
  Found operator()(const Roll&) const { return any(); }
  Found operator()(const Flip&) const { return any(); }
  Found operator()(const Gather&) const { return in[0]; }
  Found operator()(const IndexCopy&) const { return joined(in[0], in[2]); }
  Found operator()(const Where&) const { return any(1); }
  Found operator()(const MaskedFill& op) const {
    if (!std::isfinite(op.value)) return std::nullopt;
    return joined(in[0], around(round_to(output.dtype, op.value)));
  }
  Found operator()(const Arange& op) const {
    return Grid{0, static_cast<double>(op.start + (op.count - 1) * op.step)};
  }
  Found operator()(const CausalMask&) const { return Grid{0, 1}; }
  template <class T>
  Found operator()(const T&) const {
    return std::nullopt;
  }
};

Found if_held(Dtype dtype, Found grid) { return grid && holds(dtype, *grid) ? grid : std::nullopt; }

Found on_grid(const Lattice& f) {
  const auto exponent = static_cast<int>(f.exponent);
  return Grid{exponent, std::ldexp(static_cast<double>(f.max_abs), exponent)};
}
Found on_grid(const Hadamard& f) {
  const Grid grid = around(f.value);
  return Grid{grid.step, grid.largest};
}
Found on_grid(const Constant& f) { return std::isfinite(f.value) ? Found(around(f.value)) : std::nullopt; }
Found on_grid(const OneHot& f) {
  if (!std::isfinite(f.value)) return std::nullopt;
  return joined(Grid{}, around(f.value));
}
Found on_grid(const Tokens& f) { return Grid{0, static_cast<double>(f.count - 1)}; }
Found on_grid(const Bernoulli&) { return Grid{0, 1}; }
template <class F>
Found on_grid(const F&) {
  return std::nullopt;
}

}  // namespace

bool holds(Dtype dtype, const Grid& grid) {
  if (!is_float(dtype) || grid.largest == 0) return true;
  const double numbers = std::ldexp(1.0, precision(dtype) + grid.step);
  return grid.step >= min_exponent(dtype) && grid.largest <= std::min(numbers, max_finite(dtype));
}

std::optional<Grid> grid_of(const Fill& fill, Dtype dtype) {
  return if_held(dtype, std::visit([](const auto& f) { return on_grid(f); }, fill));
}

std::optional<Grid> grid_of(const Op& op, std::span<const Grid> inputs, TypeSpan input_types,
                            const TensorType& output) {
  return if_held(output.dtype, std::visit(OpGrid{inputs, input_types, output}, op));
}

}  // namespace fusesmith::fuzz

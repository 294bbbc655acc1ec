#include "fuzz/generate/grid.h"

#include <algorithm>
#include <cmath>

namespace fusesmith::fuzz {
namespace {

using Found = std::optional<Grid>;
using grid_rules::around, grid_rules::joined;

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
  if (!is_rounded(dtype)) return true;
  if (dtype == Dtype::f8e8m0) return grid_rules::is_power_of_two(grid.largest) && grid.constant;
  if (grid.largest == 0) return true;
  if (is_quantized_integer(dtype)) return grid.step >= 0 && grid.largest <= max_finite(dtype);
  const double numbers = std::ldexp(1.0, precision(dtype) + grid.step);
  return grid.step >= min_exponent(dtype) && grid.largest <= std::min(numbers, max_finite(dtype));
}

std::optional<Grid> grid_of(const Fill& fill, Dtype dtype) {
  return if_held(dtype, std::visit([](const auto& f) { return on_grid(f); }, fill));
}

std::optional<Grid> grid_of(const Op& op, std::span<const Grid> inputs, TypeSpan input_types,
                            const TensorType& output) {
  return if_held(output.dtype, derived_grid(op, inputs, input_types, output));
}

}  // namespace fusesmith::fuzz

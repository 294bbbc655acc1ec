#include "graph/traits/grid.h"

#include <algorithm>
#include <bit>
#include <cmath>

namespace fusesmith::graph::grid_rules {

int lowest_bit(double x) {
  int exponent = 0;
  const auto significand = static_cast<int64_t>(std::frexp(x, &exponent) * 0x1p53);
  return exponent - 53 + std::countr_zero(static_cast<uint64_t>(significand));
}

Grid around(double x) { return x == 0 ? Grid{0, 0, true} : Grid{lowest_bit(x), std::fabs(x), true}; }

bool is_power_of_two(double x) { return x > 0 && std::ldexp(1.0, std::ilogb(x)) == x; }

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

Found total(const Grid& term, double terms) {
  const Grid sum{term.step, term.largest * terms};
  if (sum.largest > std::ldexp(1.0, 24 + sum.step)) return std::nullopt;
  return sum;
}

bool saturates(const Grid& grid, double scale) {
  return grid.largest == 0 || std::ldexp(1.0, grid.step) * scale >= 128;
}

Found scaled(const Grid& grid, double factor) {
  if (factor == 0) return Grid{};
  return Grid{grid.step + lowest_bit(factor), grid.largest * std::fabs(factor)};
}

Found never(const GridOperands&) { return std::nullopt; }

Found of_all_inputs(const GridOperands& x) {
  Grid grid = x.in[0];
  for (const Grid& other : x.in.subspan(1)) grid = joined(grid, other);
  return grid;
}

Found of_first_input(const GridOperands& x) { return x.in[0]; }
Found added(const GridOperands& x) { return sum_of(x.in[0], x.in[1]); }
Found multiplied(const GridOperands& x) { return product_of(x.in[0], x.in[1]); }

Found sum_of_products(const GridOperands& x) {
  const Found sum = total(product_of(x.in[0], x.in[1]), x.terms);
  if (!sum || x.in.size() < 3) return sum;
  return total(sum_of(*sum, x.in[2]), 1);
}

Found sum_of_terms(const GridOperands& x) { return total(x.in[0], x.terms); }
Found ramp(const GridOperands& x) { return saturates(x.in[0]) ? Found(x.in[0]) : std::nullopt; }

}  // namespace fusesmith::graph::grid_rules

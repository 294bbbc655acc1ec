// The bounds of a product's elements: one by one, and for the elements of a row that are finite and cannot
// overflow without branches, in loops that compilers vectorise. oracle/reference/product.cc has the formulas.
#pragma once

#include <bit>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <limits>

namespace fusesmith::oracle::ref {

// What the errors of all elements with K products have in common.
struct SumError {
  double n = 0, relative = 0;  // h u and h u / (1 - h u)
  double of_reference = 0;     // relative, of the f64 sum
  double absolute = 0;
};

// The unit of zeros, infinities and NaN, which are multiples of everything. A product of two is finite.
inline constexpr double kAnyUnit = 0x1p500;

// 2^granularity(x), or kAnyUnit. Clearing the lowest set bit of the fraction takes the unit away from x; a
// fraction without bits belongs to a power of two, which is its own unit, or to an infinity.
inline double unit_of(double x) {
  constexpr uint64_t kFraction = (uint64_t{1} << 52) - 1;
  const auto bits = std::bit_cast<uint64_t>(x);
  const double rest = (bits & kFraction) == 0 ? 0 : std::bit_cast<double>(bits & (bits - 1));
  const double unit = std::fabs(x - rest), finite = unit < std::numeric_limits<double>::infinity() ? unit : 0;
  return finite == 0 ? kAnyUnit : finite;
}

// Whether sums of multiples of `unit`, a power of two, whose magnitudes add up to s are exact in every order.
inline bool sums_are_exact(double unit, double s) { return unit >= 0x1p-126 && s <= unit * 0x1p24; }

// e of one element. s: sum of the magnitudes of finite terms; `inputs`: contribution of inexact inputs;
// `unit`: of which all terms are multiples; `lone`: at most one term is not 0. A partial sum may overflow in
// some order; if all terms have one sign, it overflows in every order or in none.
double product_error(double v, double s, double inputs, const SumError& sum, double unit, bool lone,
                     bool one_sign);

// Of n elements of one row; the arrays do not overlap.
struct ProductRow {
  size_t n;
  const double *v, *s, *inputs;  // exact sums; sums of magnitudes; contributions of inexact inputs
  const double *bias_v, *bias_e, *bias_unit;
  const double* column_unit;
  const int64_t* column_nonzero;
  double row_unit;
  int64_t row_nonzero;
  int64_t most_lone;  // 1; with a bias -1, since then no term is alone
};

// Sets v and e of each element, as product_error does for elements that are finite and whose magnitudes add
// up to less than 1e38. Whether all elements are such.
bool bound_row(const ProductRow& row, const SumError& error, double* v, double* e);

// Looks at n elements x of a left operand's row: their magnitudes, where those between 0 and `normal` count
// as `normal`; the least unit; how many are not 0; how many are NaN.
struct LineFacts {
  double unit;
  int64_t nonzero, nan;
};
LineFacts look_at_row(const double* x, size_t n, double normal, double* magnitude);

// The same for a row of a right operand, which adds to the facts of n columns. e, which may be null: only NaN
// with e = 0 count.
void look_at_columns(const double* x, const double* e, size_t n, double normal, double* magnitude,
                     double* unit, int64_t* nonzero, int64_t* nan);

}  // namespace fusesmith::oracle::ref

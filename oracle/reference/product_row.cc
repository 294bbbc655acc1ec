#include "oracle/reference/product_row.h"

#include "oracle/reference/sums.h"

namespace fusesmith::oracle::ref {
namespace {

constexpr double kLargestF32 = std::numeric_limits<float>::max();

}  // namespace

double product_error(double v, double s, double inputs, const SumError& sum, double unit, bool lone,
                     bool one_sign) {
  const double magnitude = s + inputs;
  if (std::isnan(v)) return inputs == 0 ? 0 : kInfinity;
  if (!(magnitude < kLargestF32)) {
    const bool always =
        inputs == 0 && one_sign && std::isfinite(v) && s * (1 - 2 * sum.n) > kLargestF32 * (1 + kU);
    return always ? 0 : kInfinity;
  }
  if (std::isinf(v)) return inputs == 0 ? 0 : kInfinity;
  if (s == 0 && inputs == 0) return 0;
  if (inputs == 0 && (sums_are_exact(unit, s) || (lone && is_plain_f32(v)))) return 0;
  return inputs + sum.relative * magnitude + sum.of_reference * magnitude + sum.absolute;
}

// Each condition of product_error is a selection between two numbers:
// - `limit`: s <= limit is sums_are_exact(unit, s), or s = 0, which is exact in any unit.
// - `lone`: 0 if at most one term is not 0 and the sum, which is this term, is a plain f32 (sums.h).
// - A sum of inexact inputs is never exact.
// A bias of -0 with unit kAnyUnit changes nothing, not even the sign of a zero. The units of the operands are
// at least 2^-1074 and at most 2^1023, so that their product may be 0 or infinite: both compare as the exact
// product would. NaN and infinities are in no comparison that lets an element pass as plain.
bool bound_row(const ProductRow& row, const SumError& error, double* __restrict v_out,
               double* __restrict e_out) {
  const double* __restrict v = row.v, * __restrict s = row.s, * __restrict in = row.inputs;
  const double* __restrict bias_v = row.bias_v, * __restrict bias_e = row.bias_e;
  const double* __restrict bias_unit = row.bias_unit, * __restrict column_unit = row.column_unit;
  const int64_t* __restrict column_nonzero = row.column_nonzero;
  const double relative = error.relative, of_reference = error.of_reference, absolute = error.absolute;
  const double row_unit = row.row_unit;
  const int64_t row_nonzero = row.row_nonzero, most_lone = row.most_lone;
  int64_t plain = 0;
  for (size_t j = 0; j < row.n; ++j) {
    const double value = v[j] + bias_v[j], sum = s[j] + std::fabs(bias_v[j]), inputs = in[j] + bias_e[j];
    const double magnitude = sum + inputs, product_unit = row_unit * column_unit[j];
    const double unit = bias_unit[j] < product_unit ? bias_unit[j] : product_unit;
    const double scaled = unit * 0x1p24, limit = unit >= 0x1p-126 ? scaled : 0;
    const int64_t nonzero = row_nonzero < column_nonzero[j] ? row_nonzero : column_nonzero[j];
    const double size = std::fabs(value);
    const double rounding = std::fabs(static_cast<double>(static_cast<float>(value)) - value);
    const double of_one = nonzero <= most_lone ? rounding : 1;
    const double of_normal = size >= 0x1p-126 ? of_one : 1, lone = size == 0 ? of_one : of_normal;
    const double of_sum = sum <= limit ? 0 : lone, rounds = inputs == 0 ? of_sum : 1;
    const double bound = inputs + relative * magnitude + of_reference * magnitude + absolute;
    v_out[j] = value;
    e_out[j] = rounds == 0 ? 0 : bound;
    const double difference = value - value;
    const int64_t finite = difference == 0 ? 1 : 0;
    plain += magnitude < 1e38 ? finite : 0;
  }
  return plain == static_cast<int64_t>(row.n);
}

namespace {

// Also of NaN, which fails both comparisons.
double magnitude_of(double x, double normal) {
  const double m = std::fabs(x), raised = m < normal ? normal : m;
  return m > 0 ? raised : m;
}

}  // namespace

LineFacts look_at_row(const double* __restrict x, size_t n, double normal, double* __restrict magnitude) {
  // Units are positive, so that their bits are in their order: a minimum of integers is vectorised.
  auto least = std::bit_cast<int64_t>(kAnyUnit);
  int64_t nonzero = 0, nan = 0;
  for (size_t j = 0; j < n; ++j) {
    magnitude[j] = magnitude_of(x[j], normal);
    const auto unit = std::bit_cast<int64_t>(unit_of(x[j]));
    least = unit < least ? unit : least;
    nonzero += x[j] != 0 ? 1 : 0;
    nan += x[j] != x[j] ? 1 : 0;
  }
  return {std::bit_cast<double>(least), nonzero, nan};
}

void look_at_columns(const double* __restrict x, const double* __restrict e, size_t n, double normal,
                     double* __restrict magnitude, double* __restrict unit, int64_t* __restrict nonzero,
                     int64_t* __restrict nan) {
  int64_t nans = 0;
  for (size_t j = 0; j < n; ++j) {
    magnitude[j] = magnitude_of(x[j], normal);
    const double own = unit_of(x[j]);
    unit[j] = own < unit[j] ? own : unit[j];
    nonzero[j] += x[j] != 0 ? 1 : 0;
    nans += x[j] != x[j] ? 1 : 0;
  }
  for (size_t j = 0; nans > 0 && j < n; ++j) nan[j] += std::isnan(x[j]) && (!e || e[j] == 0);
}

}  // namespace fusesmith::oracle::ref

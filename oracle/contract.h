// Contract: how a region may legally differ from "compute every node exactly from its stored inputs, round
// once to its dtype". Backends write contracts; the judge reads them, and tries the strict reading first, so
// that what is used is reported.
#pragma once

#include <cmath>
#include <limits>
#include <string>
#include <vector>

#include "graph/dtype.h"

namespace fusesmith::oracle {

// u, the unit roundoff of f32: every f32 error below is in this unit.
inline constexpr double kU = 0x1p-24;

// How softmax, norms and reductions add up a row: in lanes, of which each takes about one in `lanes` terms,
// one after the other, and which are then merged, with at most `merges` further steps on any term's way. One
// lane: in any order. Rows of more than `long_row` terms may have more lanes, of which some take one step
// more.
struct RowSums {
  double lanes = 1, merges = 0;
  double long_row = std::numeric_limits<double>::infinity(), long_lanes = 1;

  bool any_order() const { return lanes == 1; }
  double steps_of_lane(double n) const {
    return n > long_row ? std::ceil(n / long_lanes) + 1 : std::ceil(n / lanes);
  }
  // Most additions that any of n terms meets.
  double height(double n) const { return std::fmin(n - 1, steps_of_lane(n) + merges); }
  bool operator==(const RowSums&) const = default;
};

// Worst relative errors of scalar functions, in units of u, and how variances are computed. Products and sums
// accumulate in f32, in any order unless `sum_height` or `row_sums` say more. Whatever they are, functions
// are exact where every one that is used is (glibc's; CUDA's, measured on an H100 over every f32): exp is 1
// at 0 and 0 from -105 down, log is 0 at 1, erf and tanh are 0 at 0 and +-1 beyond 16, 1 / sqrt of a power of
// four is a power of two.
struct Arithmetic {
  enum class Variance : uint8_t {
    two_pass,  // mean first, then squared differences
    welford,   // one pass, running mean and squared differences, merged pairwise or not
    moments,   // E[x^2] - E[x]^2
  };
  Variance variance = Variance::two_pass;
  double exp = 2;  // glibc documents 1 ulp for expf, erff and logf, 2 for tanhf; an ulp is at most 2 u
  double erf = 2;
  double tanh = 4;
  double log = 2;
  double rsqrt = 3;  // 1 / sqrtf: two correctly rounded steps and a reciprocal's share
  double div = 1;
  double smallest = 0x1p-126;       // a function may be off by this much where it or a step of it underflows
  double smallest_term = 0x1p-126;  // so may a term of a product's sum
  // Products of f32 operands may round or truncate them to tf32 (f32 with 10 bits after the leading one).
  bool tf32 = false;
  // Most roundings between a term of a product's sum and its result, the term's own included; 0: the sum may
  // be taken in any order.
  double sum_height = 0;
  RowSums row_sums;
  bool operator==(const Arithmetic&) const = default;
};

// The value inside softmax that libraries are known to store in 16 bits: "p/exponentials" for the node p.
inline constexpr const char* kExponentials = "/exponentials";

// One implicit rounding that a region may leave out, do elsewhere or do in addition. `value` names an inner
// value of the region: a node, or "node/inner" for an inner value of a composite op, or of softmax.
struct Deviation {
  enum class Kind : uint8_t {
    drop,  // the value is passed on in f32, without its rounding to `dtype`
    move,  // instead it is rounded to `dtype` at another place, on a scale of at most 1 / value: off by
           // `relative` of each element, or by half of the smallest subnormal of `dtype`
    add,   // a value inside one op, which the graph does not name, is rounded to `dtype`: the op's result is
           // off by `relative` of each element and by half of the smallest subnormal of `dtype`
  };
  Kind kind = Kind::drop;
  std::string value;
  Dtype dtype = Dtype::f32;
  double relative = 0;
  std::string why;  // "probabilities are rounded before their normalisation"
  bool operator==(const Deviation&) const = default;
};

// An error that the region's algorithm adds to an inner value in any reading: |v| relative (online rescaling,
// say).
struct Slack {
  std::string value;
  double relative = 0;
  std::string why;
  bool operator==(const Slack&) const = default;
};

struct Contract {
  Arithmetic arithmetic;
  std::vector<Deviation> deviations;
  std::vector<Slack> slacks;
  // Products whose left operand is divided by its row's sum only afterwards: partial sums of a row may reach
  // sum |b|, so that huge operands may overflow where the normalised product does not.
  std::vector<std::string> unnormalised;
  bool operator==(const Contract&) const = default;
};

// "drop scores", "move p": how reports and case files name a deviation.
std::string to_string(const Deviation& deviation);

}  // namespace fusesmith::oracle

// Contract: how a region may differ from "compute every node exactly from its stored inputs, round once to
// its dtype". Backends write contracts, and the judge reads them. The judge tries the strict reading
// first, so that a verdict names the deviations that were really used.
#pragma once

#include <cmath>
#include <limits>
#include <map>
#include <string>
#include <vector>

#include "graph/dtype.h"

namespace fusesmith::oracle {

// u, the unit roundoff of f32. All f32 errors below are in units of u.
inline constexpr double kU = 0x1p-24;

// How softmax, norms and reductions sum a row: each lane sums about one in `lanes` terms sequentially,
// then the lanes are merged, with at most `merges` further additions for any term. One lane: the order is
// unknown. Rows of more than `long_row` terms may use `long_lanes` lanes, some of which take one more
// step.
struct RowSums {
  double lanes = 1, merges = 0;
  double long_row = std::numeric_limits<double>::infinity(), long_lanes = 1;

  bool any_order() const { return lanes == 1; }
  double steps_of_lane(double n) const {
    return n > long_row ? std::ceil(n / long_lanes) + 1 : std::ceil(n / lanes);
  }
  // The largest number of additions that any of n terms passes.
  double height(double n) const { return std::fmin(n - 1, steps_of_lane(n) + merges); }
  bool operator==(const RowSums&) const = default;
};

// How a unit adds products of quantized factors, as tensor cores do with those of 8 bits: `group` of them, in
// the order of k, and the accumulator are cut to multiples of 2^(E - fraction_bits), E being the largest
// exponent among them, and added; the sum is cut to `out_bits` fraction bits. After each `promote_every`
// products, the accumulator is added to a sum in f32, and starts again at 0; if that is 0, at the end alone;
// if it is kAnywhere, after any products, as of kernels that split them.
// The exponent of a product is the sum of its factors'; that of a subnormal factor is the smallest normal
// one. `group` 0: products are added in f32, as others are.
struct Accumulator {
  static constexpr int kAnywhere = -1;
  int group = 0, fraction_bits = 0, out_bits = 0, promote_every = 0;
  bool operator==(const Accumulator&) const = default;
};

// Worst relative errors of scalar functions, in units of u, and how variances are computed. Products and
// sums accumulate in f32, in any order unless `sum_height` or `row_sums` says more. Every function in use
// is exact at these points (glibc; CUDA, measured on an H100 over every f32): exp is 1 at 0, and 0 from
// -105 down; erf and tanh are 0 at 0, and +-1 beyond 16; 1 / sqrt of a power of four is a power of two.
struct Arithmetic {
  enum class Variance : uint8_t {
    two_pass,  // mean first, then squared differences
    welford,   // one pass, running mean and squared differences, merged pairwise or not
    moments,   // E[x^2] - E[x]^2
    two_pass_or_welford,
  };
  Variance variance = Variance::two_pass;
  double exp = 2;  // glibc documents 1 ulp for expf, erff and logf, 2 for tanhf; an ulp is at most 2 u
  // Relative error of the argument of an exponential, in units of u: of exp by base 2, 1.5 (x log2(e) is
  // rounded, and log2(e) is off by 0.22 u), so that the error grows with |x|.
  double exp_argument = 0;
  // Relative error of each element of a softmax, in units of u, before the maximum is subtracted: of scores
  // that are multiplied by log2(e) first, 1.5.
  double exp_scores = 0;
  double erf = 2;
  double tanh = 4;
  double log = 2;
  double rsqrt = 3;  // 1 / sqrtf: two correctly rounded steps and a reciprocal's share
  double sqrt = 1;   // 1: correctly rounded, as is a div of 1
  double div = 1;
  // Absolute error of a sigmoid beside its relative one, in units of u, also where a sigmoid is a factor of
  // silu: of rational approximations, which vanish or stay constant where exp(-|x|) is small.
  double sigmoid_absolute = 0;
  double erf_absolute = 0;          // of the erf inside of gelu, beside its relative one, in units of u
  double tanh_absolute = 0;         // of a tanh, also inside of gelu, beside its relative one, in units of u
  double smallest = 0x1p-126;       // absolute error of a function where it or one of its steps underflows
  double smallest_term = 0x1p-126;  // the same for one term of a product's sum
  // Operands and results below 2^-126 may be read and written as zeros (FTZ and DAZ modes of a processor).
  bool flushes_subnormals = false;
  // layer_norm and group_norm may be computed as x * scale + shift with scale = r w, shift = b - mean r w.
  bool norms_scale_and_shift = false;
  // A mean of n terms may be the sum of their quotients by n, or of their products with the rounded 1 / n.
  bool means_of_quotients = false;
  // Products of f32 operands may round or truncate them to tf32 (10 explicit significand bits).
  bool tf32 = false;
  // How it is done, where that is known: the lower 13 bits are cut off, or the operand is rounded to the
  // nearest tf32 number, ties away from zero or to even.
  bool tf32_truncated = false, tf32_nearest = false;
  // Products of f32 operands may be sums of three products of tf32 parts, the large and the small part of
  // each operand, without the product of both small parts.
  bool tf32x3 = false;
  // A softmax of a row of -inf alone, as of a query whose keys are all hidden, is 0 and not NaN.
  bool empty_rows_are_zero = false;
  // A product of several factors may be taken in any order, so that each of its products rounds, also those
  // that are exact in the order of the graph.
  bool products_in_any_order = false;
  // A mean may be a running mean, m += (x - m) / k for the k-th term.
  bool running_means = false;
  // A quotient by a zero, or the reciprocal root of one, may be an infinity of either sign.
  bool zero_signs_lost = false;
  // A logsumexp may be merged from those of parts of its row, each of which is rounded.
  bool merged_logsumexp = false;
  // A key whose weight is 0, since a mask hides it, may be left out of the product with the values, so that
  // an infinity there does not become NaN.
  bool hidden_keys_left_out = false;
  // The bits of an element do not depend on how many rows, batch elements or heads are computed with it. No
  // bound follows from it: metamorphic checks hold it against the kernel (fuzz/run/subset.h).
  bool batch_invariant = false;
  // Nor on which place along such an axis it has. Own backends promise it for all but the rows and columns of
  // products, without this flag (fuzz/run/symmetry.h).
  bool position_invariant = false;
  // Sums may be added in another order in each run, as by atomic operations, so that runs on the same inputs
  // have other bits. Each run is held to the bounds; where one value alone is lawful, runs have to agree.
  bool order_varies = false;
  // A sum of k terms has the error of 4 sqrt(k) roundings at most, in place of k: those of a correct kernel
  // are hardly larger, since roundings are nearly independent (Higham and Mary, SIAM J. Sci. Comput. 41(5),
  // 2019, theorem 2.4). Errors e of its terms add up to 4 sqrt(sum e^2), which independent ones exceed with a
  // probability below 2 exp(-8) (Hoeffding's inequality). What exceeds either is not wrong.
  bool probable_sums = false;
  // The largest number of roundings between a term of a product's sum and the result, including the term's
  // own. 0: the order is unknown.
  double sum_height = 0;
  Accumulator accumulator = {};  // of products of quantized factors
  // Operands of products in f32 are dequantized ones: a kernel adds the products of their codes in the
  // accumulator, and multiplies by the scales afterwards.
  bool accumulates_dequantized = false;
  RowSums row_sums = {};
  // The error of one addition of a sum, in units of u: of partial sums that are stored in 16 bits, 2^16 for
  // bf16 and 2^13 for f16.
  double sum = 1;
  double row_roundings(double n) const {
    return sum * (probable_sums ? std::fmin(row_sums.height(n), 4 * std::sqrt(n)) : row_sums.height(n));
  }
  // The relative error of exp(x), in units of u. e^d - 1 <= 1.001 d, since d = u exp_argument |x| is small.
  double exp_at(double x) const { return exp + 1.001 * exp_argument * std::fabs(x); }
  bool operator==(const Arithmetic&) const = default;
};

// An inner value of softmax that some libraries store in 16 bits: "p/exponentials" for the node p.
inline constexpr const char* kExponentials = "/exponentials";
// An inner value of another op that some libraries store in 16 bits: "y/inner" for the node y.
inline constexpr const char* kInner = "/inner";

// One implicit rounding that a region may drop, move or add. `value` names an inner value of the region: a
// node, or "node/inner" for an inner value of a composite op or of softmax.
struct Deviation {
  enum class Kind : uint8_t {
    drop,   // the value stays in f32; its rounding to `dtype` does not happen
    move,   // instead it is rounded to `dtype` at another place, on a scale of at most 1 / value: off by
            // `relative` of each element, or by half of the smallest subnormal of `dtype`
    maybe,  // for each reader and element, its rounding may happen or not: what covers both
    add,    // a value inside one op, which the graph does not name, is rounded to `dtype`: the op's result is
            // off by `relative` of each element and by half of the smallest subnormal of `dtype`
    lower,  // the node `value` is computed as the graph that `lowering` names (oracle/lowerings.h), whose
            // inner values are rounded to their dtypes
    maybe_lower,  // for each element, either as that graph, with its roundings or without, or as the op
  };
  Kind kind = Kind::drop;
  std::string value;
  Dtype dtype = Dtype::f32;
  double relative = 0;
  std::string why;  // "probabilities are rounded before their normalisation"
  std::string lowering = {};
  bool operator==(const Deviation&) const = default;
};

// Whether it replaces a node by another graph, rather than changing a rounding.
inline bool is_lowering(const Deviation& d) {
  return d.kind == Deviation::Kind::lower || d.kind == Deviation::Kind::maybe_lower;
}

// An error that the algorithm of the region adds to an inner value in every reading, relative to |v| (for
// example, by online rescaling).
struct Slack {
  std::string value;
  double relative = 0;
  std::string why;
  bool operator==(const Slack&) const = default;
};

// How ops read the 16-bit values that the region computes and does not store. Casts always round, and what
// the region stores is read as it is stored.
enum class Roundings : uint8_t {
  kept,      // rounded, as the graph says
  any,       // each with or without its rounding: of compilers whose fusion is not known
  products,  // products read them rounded, and other ops in f32
};

struct Contract {
  Arithmetic arithmetic = {};
  std::map<std::string, Arithmetic> arithmetic_of = {};  // by the name of an op: of its nodes, if it differs
  std::vector<Deviation> deviations = {};
  std::vector<Slack> slacks = {};
  Roundings roundings = Roundings::kept;
  // Products whose left operand is divided by the sum of its row only afterwards. Partial sums of a row
  // may reach sum |b|, so that they may overflow where the normalised product does not.
  std::vector<std::string> unnormalised = {};
  bool operator==(const Contract&) const = default;
};

// "drop scores", "move p", "may drop x", "lower y as einsum.sum_first": the name of a deviation in reports
// and case files.
std::string to_string(const Deviation& deviation);

}  // namespace fusesmith::oracle

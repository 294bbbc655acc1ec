// Bounded tensors. For each element: v, the exact real result, computed in f64; and e >= 0, the largest
// error of any correct execution before it stores its result. A stored element is within bounds if it lies
// in [rnd(v - e), rnd(v + e)].
#pragma once

#include <algorithm>
#include <bit>
#include <cstdint>
#include <limits>
#include <memory>
#include <vector>

#include "graph/tensor.h"

namespace fusesmith::oracle {

inline constexpr double kInfinity = std::numeric_limits<double>::infinity();
inline constexpr double kNaN = std::numeric_limits<double>::quiet_NaN();

// The largest power of two that is not above |x|; 0 for zero and the subnormal numbers.
inline double binade_of(double x) {
  return std::bit_cast<double>(std::bit_cast<uint64_t>(x) & 0x7ff0000000000000);
}

struct Bounded {
  TensorType type;
  std::vector<double> v;  // NaN or an infinity with e = 0: only this value is correct
  std::vector<double> e;  // empty: all zero; infinity: nothing is known of the element
  // Elements that are an infinity of either sign, in order; e is infinite there. Few, usually none.
  std::vector<int64_t> either_infinity;
  // Whether an exact zero has the sign that v has. A sum of zeros may have either, since a kernel may start
  // from +0 or from the first term.
  bool zero_signs_known = true;

  explicit Bounded(TensorType t) : type(std::move(t)), v(static_cast<size_t>(element_count(type))) {}
  explicit Bounded(const Tensor& tensor) : type(tensor.type), v(to_f64(tensor)) {}
  bool exact() const { return e.empty(); }
  double error(size_t i) const { return e.empty() ? 0 : e[i]; }
  bool is_either_infinity(size_t i) const {
    return std::binary_search(either_infinity.begin(), either_infinity.end(), static_cast<int64_t>(i));
  }
  // After e was filled without `set`.
  void forget_zero_errors();
  void set(size_t i, double value, double err) {
    v[i] = value;
    if (err == 0 && e.empty()) return;
    if (e.empty()) e.assign(v.size(), 0);
    e[i] = err;
  }
};

using BoundedPtr = std::shared_ptr<const Bounded>;

struct Interval {
  double lo, hi;
};

// The error before storing to `dtype`. A computed 16-bit or quantized result is rounded to f32 first, which
// adds u (|v|
// + e) unless v is known exactly and is an f32.
double error_before_store(Dtype dtype, bool computed, double v, double e);

// The stored values that are within bounds. Both ends are NaN where only NaN is correct.
Interval stored_interval(Dtype dtype, bool computed, double v, double e);

// Half the distance between neighbours of the dtype around v, which is finite; the larger one at powers of
// two.
double half_ulp(Dtype dtype, double v);

// Makes v and e of an inner value what the next op reads: rounded to the value's own dtype (`rounded`;
// quantized values always are), or kept in f32. Adds a further error of `relative` |v| + `absolute` (a
// rounding at another place, or the slack of an algorithm).
void pass_on(Bounded& value, bool computed, bool rounded, double relative, double absolute = 0);

// Widens e so that every value that `other` allows is allowed, too. `other` has the same type.
void cover(Bounded& value, const Bounded& other);

// Stored values become all that round to them: those of a value that is read before its rounding.
void unround(Bounded& stored);

// What covers both readings of a 16-bit inner value: rounded to its dtype, and kept in f32. v stays the exact
// result.
void pass_on_either(Bounded& value, bool computed);

}  // namespace fusesmith::oracle

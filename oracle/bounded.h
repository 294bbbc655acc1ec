// Bounded tensors: for each element v, the exact real result computed in f64, and e >= 0, how far any lawful
// execution may be off before it stores. A value is stored lawfully when it lies in [rnd(v - e), rnd(v + e)].
#pragma once

#include <memory>
#include <vector>

#include "graph/tensor.h"

namespace fusesmith::oracle {

struct Bounded {
  TensorType type;
  std::vector<double> v;  // NaN or an infinity with e = 0: exactly that is right
  std::vector<double> e;  // empty: all zero. Infinity: nothing is known about the element

  explicit Bounded(TensorType t) : type(std::move(t)), v(static_cast<size_t>(element_count(type))) {}
  explicit Bounded(const Tensor& tensor) : type(tensor.type), v(to_f64(tensor)) {}
  bool exact() const { return e.empty(); }
  double error(size_t i) const { return e.empty() ? 0 : e[i]; }
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

// The error before storing to `dtype`: a computed 16-bit result passes through f32 first, which adds u (|v| +
// e) unless v is known exactly and is an f32.
double error_before_store(Dtype dtype, bool computed, double v, double e);

// What may lawfully stand in memory; NaN bounds when NaN alone is right.
Interval stored_interval(Dtype dtype, bool computed, double v, double e);

// An inner value after its rounding to its own dtype (`rounded`), or kept in f32: v and e as the next op sees
// them. A further error of `relative` |v| + `absolute` is added (a rounding done elsewhere, an algorithm's
// slack).
void pass_on(Bounded& value, bool computed, bool rounded, double relative, double absolute = 0);

}  // namespace fusesmith::oracle

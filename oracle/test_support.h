// Shared by the oracle's tests: seeded data, f32 sums in the orders that executors use, the bounded reference
// of one op on given values, and whether a stored number is within bounds. Nothing here is shared with what
// the tests check.
#pragma once

#include <algorithm>
#include <cmath>
#include <limits>
#include <numeric>
#include <string>
#include <vector>

#include "graph/formula.h"
#include "graph/philox.h"
#include "oracle/lowerings.h"
#include "oracle/reference.h"
#include "oracle/region_judge.h"

namespace fusesmith::oracle::testing_support {

inline constexpr double kInf = std::numeric_limits<double>::infinity();
inline constexpr double kNan = std::numeric_limits<double>::quiet_NaN();

class Rng {
 public:
  explicit Rng(uint64_t seed) : seed_(seed) {}
  uint64_t next() {
    const PhiloxBlock block = philox(seed_, 0, count_++);
    return uint64_t{block[1]} << 32 | block[0];
  }
  double uniform(double lo = 0, double hi = 1) {
    return lo + (hi - lo) * static_cast<double>(next() >> 11) * 0x1p-53;
  }
  double normal() {  // twelve uniforms: variance 1
    double sum = -6;
    for (int i = 0; i < 12; ++i) sum += uniform();
    return sum;
  }
  int64_t below(int64_t n) { return static_cast<int64_t>(next() % static_cast<uint64_t>(n)); }
  double sign() { return next() & 1 ? 1 : -1; }

 private:
  uint64_t seed_, count_ = 0;
};

// A tensor holding f(i), rounded to its dtype.
template <class F>
Tensor make_tensor(const TensorType& type, F f) {
  Tensor t(type);
  for (int64_t i = 0; i < t.size(); ++i) t.set(i, f(i));
  return t;
}

inline Tensor make_tensor(const TensorType& type, const std::vector<double>& values) {
  return make_tensor(type, [&](int64_t i) { return values[static_cast<size_t>(i)]; });
}

// x with every element off by up to dx(i).
template <class F>
Bounded with_error(Bounded x, F dx) {
  x.e.resize(x.v.size());
  for (size_t i = 0; i < x.v.size(); ++i) x.e[i] = dx(i);
  return x;
}

inline std::vector<Bounded> evaluate_outputs(const Op& op, const std::vector<Bounded>& inputs,
                                             const Arithmetic& arithmetic = {}) {
  Types types;
  std::vector<const Bounded*> pointers;
  for (const Bounded& b : inputs) types.push_back(b.type), pointers.push_back(&b);
  const auto out = infer(op, types);
  check(out.ok(), out.ok() ? "" : out.problem().c_str());
  return reference(op, pointers, *out, arithmetic);
}

// The only output.
inline Bounded evaluate_op(const Op& op, const std::vector<Bounded>& inputs,
                           const Arithmetic& arithmetic = {}) {
  return evaluate_outputs(op, inputs, arithmetic)[0];
}

// What memory holds after an f32 is stored as `dtype`.
inline double store(Dtype dtype, float x) {
  if (dtype == Dtype::f16) return static_cast<double>(f16_to_f32(f32_to_f16(x)));
  if (dtype == Dtype::bf16) return static_cast<double>(bf16_to_f32(f32_to_bf16(x)));
  return static_cast<double>(x);
}

inline bool lawful(Dtype dtype, double v, double e, double got, bool computed = true) {
  if (e == kInf) return true;
  const Interval interval = stored_interval(dtype, computed, v, e);
  if (std::isnan(got) || std::isnan(v)) return std::isnan(got) && std::isnan(v);
  return got >= interval.lo && got <= interval.hi;
}

// |got - v| as a share of the bound.
inline double share(Dtype dtype, double v, double e, double got) {
  return std::fabs(got - v) / (error_before_store(dtype, true, v, e) + half_ulp(dtype, v));
}

// Orders of accumulation: in which order terms come, and how partial sums are joined.
enum class Visit { forward, backward, descending, ascending };
enum class Join { chain, pairwise, lanes, split };
inline constexpr Visit kVisits[] = {Visit::forward, Visit::backward, Visit::descending, Visit::ascending};
inline constexpr Join kJoins[] = {Join::chain, Join::pairwise, Join::lanes, Join::split};

template <class F>
std::vector<size_t> visit_order(size_t n, Visit visit, F magnitude) {
  std::vector<size_t> order(n);
  std::iota(order.begin(), order.end(), size_t{0});
  if (visit == Visit::backward) std::reverse(order.begin(), order.end());
  if (visit == Visit::descending || visit == Visit::ascending) {
    std::stable_sort(order.begin(), order.end(), [&](size_t i, size_t j) {
      return visit == Visit::descending ? magnitude(i) > magnitude(j) : magnitude(i) < magnitude(j);
    });
  }
  return order;
}

// Folds order[first, last) from `start`; `add(sum, i)` adds term i to a partial sum.
template <class Add>
float accumulate(const std::vector<size_t>& order, size_t first, size_t last, Join join, float start,
                 Add add) {
  const size_t n = last - first;
  if (join == Join::chain || n <= 1) {
    for (size_t k = first; k < last; ++k) start = add(start, order[k]);
    return start;
  }
  if (join == Join::pairwise) {
    const size_t middle = first + n / 2;
    return accumulate(order, first, middle, join, start, add) +
           accumulate(order, middle, last, join, 0.0f, add);
  }
  const size_t parts = join == Join::lanes ? 8 : 5;
  std::vector<float> partial(parts, 0.0f);
  partial[0] = start;
  for (size_t k = 0; k < n; ++k) {
    float& sum = partial[join == Join::lanes ? k % parts : k * parts / n];
    sum = add(sum, order[first + k]);
  }
  float total = partial[0];
  for (size_t p = 1; p < parts; ++p) total += partial[p];
  return total;
}

template <class Term>
float sum_in_order(size_t n, Visit visit, Join join, Term term) {
  const auto order = visit_order(n, visit, [&](size_t i) { return std::fabs(term(i)); });
  return accumulate(order, 0, n, join, 0.0f, [&](float sum, size_t i) { return sum + term(i); });
}

// Errors as shares of their bounds: collected, then reported as "median 0.012 worst 0.31".
struct Shares {
  std::vector<double> all;
  void add(double x) { all.push_back(x); }
  double worst() const { return all.empty() ? 0 : *std::max_element(all.begin(), all.end()); }
  double median() {
    if (all.empty()) return 0;
    const auto middle = all.begin() + static_cast<std::ptrdiff_t>(all.size() / 2);
    std::nth_element(all.begin(), middle, all.end());
    return *middle;
  }
  std::string text() {
    char buffer[64];
    std::snprintf(buffer, sizeof buffer, "median %.2g worst %.2g", median(), worst());
    return buffer;
  }
};

// Of the arithmetics that the judge names.
inline std::string names(const RegionVerdict& verdict) {
  std::string text;
  for (const Diagnosis& one : verdict.arithmetic) text += (text.empty() ? "" : " ") + one.name;
  return text;
}

// Whether it is of an op that a formula defines, or differs from the op by more than roundings to 16 bits.
inline bool is_formula(const Lowering& lowering) {
  const std::string_view name = lowering.name, op = name.substr(0, name.find('.'));
  bool found = name == "softmax.of_logsumexp";
  graph::for_each_op([&]<class T>(std::type_identity<T>) {
    if (graph::DefinedOp<T> && T::info.name == op) found = true;
  });
  return found;
}

}  // namespace fusesmith::oracle::testing_support

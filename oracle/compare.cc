// Compares stored bits with the intervals of a reading.
#include <algorithm>
#include <array>
#include <cmath>
#include <cstdlib>
#include <optional>

#include "oracle/compare_block.h"
#include "oracle/ordinal.h"
#include "oracle/region_judge.h"

namespace fusesmith::oracle {
namespace {

// How many stored values further `got` would have to be to lie in the interval; 0 where one is not finite.
int64_t steps_outside(Dtype dtype, double got, const Interval& lawful) {
  const double nearest = got < lawful.lo ? lawful.lo : got > lawful.hi ? lawful.hi : got;
  if (!std::isfinite(got) || !std::isfinite(nearest)) return 0;
  return std::abs(ordinal(dtype, got) - ordinal(dtype, nearest));
}

// Beside which values a bound is loose: the largest of the element's row (its last axis) and of its column,
// the smaller one, so that neither large rows nor large columns hide what is said of the others. Lines of a
// few elements may be small by chance: they count for twice their largest.
class Scales {
 public:
  explicit Scales(const Bounded& b)
      : columns_(b.type.shape.empty() ? 1 : static_cast<size_t>(b.type.shape.back())) {
    const size_t rows = columns_ == 0 ? 0 : b.v.size() / columns_;
    of_row_.resize(rows);
    of_column_.resize(columns_);
    for (size_t row = 0; row < rows; ++row) {
      for (size_t column = 0; column < columns_; ++column) {
        const double v = b.v[row * columns_ + column], magnitude = std::isfinite(v) ? std::fabs(v) : 0;
        of_row_[row] = std::max(of_row_[row], magnitude);
        of_column_[column] = std::max(of_column_[column], magnitude);
      }
      largest_ = std::max(largest_, of_row_[row]);
    }
  }
  // At least the magnitude of the element itself.
  double at(size_t i) const {
    const double row = of_row_[i / columns_] * (columns_ < kLine ? kFew : 1),
                 column = of_column_[i % columns_] * (of_row_.size() < kLine ? kFew : 1);
    return std::min({largest_, row, column});
  }

 private:
  static constexpr size_t kLine = 8;
  static constexpr double kFew = 2;
  size_t columns_;
  double largest_ = 0;
  std::vector<double> of_row_, of_column_;
};

class Comparer {
 public:
  // `stored`: the elements that the backend stored.
  Comparer(Comparison& result, const std::string& name, const RegionOutput& output, const Bounded& stored)
      : result_(result), name_(name), output_(output), stored_(stored.v), dtype_(stored.type.dtype) {}

  void run() {
    const Bounded& b = *output_.bounded;
    stride_ = std::max<size_t>(1, b.v.size() / 2048);
    if (is_rounded(dtype_)) {
      block_.dtype = dtype_;
      block_.computed = output_.computed;
      block_.signed_zeros = output_.copied;
      if (!b.exact()) shares_.reserve(b.v.size() / stride_ + 1);
      size_t begin = 0;
      for (; begin + CompareBlock::kSize <= b.v.size(); begin += CompareBlock::kSize)
        block(begin, CompareBlock::kSize, stored_.data() + begin, b.v.data() + begin,
              b.exact() ? kZeros.data() : b.e.data() + begin);
      if (begin < b.v.size()) last_block(begin, b.v.size() - begin);
    } else {
      for (size_t i = 0; i < b.v.size(); ++i) element(i, b.v[i], b.error(i), i % stride_ == 0);
    }
    result_.elements += static_cast<int64_t>(b.v.size());
    result_.loose += static_cast<int64_t>(loose_);
    result_.mostly_loose |= loose_ > 0 && loose_ * 2 >= b.v.size();
    if (shares_.empty()) return;
    const auto middle = shares_.begin() + static_cast<std::ptrdiff_t>(shares_.size() / 2);
    std::nth_element(shares_.begin(), middle, shares_.end());
    result_.median_share = std::fmax(result_.median_share, *middle);
  }

 private:
  using Numbers = std::array<double, CompareBlock::kSize>;
  static constexpr Numbers kZeros = {};

  // Fewer elements than a block has, filled up with exact ones.
  void last_block(size_t begin, size_t count) {
    const Bounded& b = *output_.bounded;
    Numbers got, v, e = {};
    got.fill(1), v.fill(1);
    std::copy_n(stored_.data() + begin, count, got.data());
    std::copy_n(b.v.data() + begin, count, v.data());
    if (!b.exact()) std::copy_n(b.e.data() + begin, count, e.data());
    block(begin, count, got.data(), v.data(), e.data());
  }

  // The `count` elements from `begin` on, with a closer look only at those that need it.
  void block(size_t begin, size_t count, const double* got, const double* v, const double* e) {
    const bool plain = block_.look(got, v, e, result_.worst_share);
    if (plain && output_.bounded->exact()) {
      result_.exact += static_cast<int64_t>(count);
      return;
    }
    if (plain && stride_ == 1) return add_shares(count, e);
    size_t next_sample = (stride_ - begin % stride_) % stride_;
    for (size_t k = 0; k < count; ++k) {
      const bool sampled = k == next_sample;
      if (sampled) next_sample += stride_;
      if (!block_.plain[k])
        element(begin + k, v[k], e[k], sampled);
      else if (e[k] == 0)
        ++result_.exact;
      else if (sampled)
        shares_.push_back(block_.share[k]);
    }
  }

  void add_shares(size_t count, const double* e) {
    Numbers inexact;
    size_t added = 0;
    for (size_t k = 0; k < count; ++k) {
      inexact[added] = block_.share[k];
      added += e[k] != 0;
    }
    shares_.insert(shares_.end(), inexact.data(), inexact.data() + added);
    result_.exact += static_cast<int64_t>(count - added);
  }

  void element(size_t i, double v, double e, bool sampled) {
    const double got = stored_[i];
    if (output_.copied && e == 0 && v == 0 && got == 0 && std::signbit(v) != std::signbit(got)) {
      note(i, got, v, e, {v, v}, 0, result_.outside == 0);
      return void(++result_.outside);
    }
    if (e == 0 && got == round_to(dtype_, v)) {  // the common exact case
      ++result_.exact;
      return;
    }
    if (std::isinf(e) && output_.bounded->is_either_infinity(i)) {
      ++result_.exact;
      return std::isinf(got) ? void() : special(i, got, v, 0, {v, v});
    }
    if (std::isinf(e)) return void(++result_.unknown);
    if (e == 0) ++result_.exact;
    loose_ += is_loose(i, v, e);
    if (got == round_to(dtype_, v) &&
        std::isfinite(got)) {  // within bounds for any e; only the ratio is needed
      const double share = share_of(got, v, e);
      if (sampled && e > 0) shares_.push_back(share);
      if (result_.outside + result_.outside_special > 0 || share <= result_.worst_share) return;
    }
    const Interval lawful =
        is_rounded(dtype_) ? stored_interval(dtype_, output_.computed, v, e) : Interval{v, v};
    const bool v_special = !std::isfinite(lawful.lo) &&
                           !std::isfinite(lawful.hi);  // an interval that only reaches infinity is ordinary
    if (!std::isfinite(got) || v_special) return special(i, got, v, e, lawful);
    const double share = share_of(got, v, e);
    if (sampled && e > 0 && got != round_to(dtype_, v)) shares_.push_back(share);
    if (got < lawful.lo || got > lawful.hi) {
      note(i, got, v, e, lawful, share, result_.outside == 0);
      ++result_.outside;
      return;
    }
    result_.uncertain += is_uncertain(got, v);
    if (result_.outside + result_.outside_special == 0 && share > result_.worst_share) {
      note(i, got, v, e, lawful, share, true);
    }
  }

  // Of results that are large enough to be normal numbers. Few elements come past the first condition.
  bool is_uncertain(double got, double v) const {
    const double magnitude = std::fabs(v), off = std::fabs(got - v);
    return off > kCoarsest * magnitude && magnitude >= std::ldexp(1.0, min_exponent(dtype_)) &&
           off > kCoarsest * magnitude + 2 * half_ulp(dtype_, v);
  }

  bool is_loose(size_t i, double v, double e) {
    if (!is_loose_alone(v, e)) return false;
    if (!scales_) scales_.emplace(*output_.bounded);
    return e * 16 > scales_->at(i);
  }

  double share_of(double got, double v, double e) const {
    return std::fabs(got - v) / (error_before_store(dtype_, output_.computed, v, e) + half_ulp(dtype_, v));
  }

  void special(size_t i, double got, double v, double e, const Interval& lawful) {
    const bool both_nan = std::isnan(got) && std::isnan(v);
    const bool inside = got >= lawful.lo && got <= lawful.hi;
    if (both_nan || inside) return;
    const Symptom symptom = std::isnan(got)   ? Symptom::nan
                            : std::isnan(v)   ? Symptom::missing_nan
                            : std::isinf(got) ? Symptom::infinity
                                              : Symptom::missing_infinity;
    if (result_.special_symptom == Symptom::none) {
      result_.special_symptom = symptom;
      if (result_.outside == 0) note(i, got, v, e, lawful, 0, true);
    }
    ++result_.outside_special;
  }

  void note(size_t i, double got, double v, double e, const Interval& lawful, double share, bool first) {
    if (!first && share <= result_.worst_share) return;
    result_.worst_share = share;
    result_.worst = {name_, static_cast<int64_t>(i),           got, v, lawful.lo, lawful.hi,
                     e,     steps_outside(dtype_, got, lawful)};
  }

  Comparison& result_;
  const std::string& name_;
  const RegionOutput& output_;
  const std::vector<double>& stored_;
  Dtype dtype_;
  std::optional<Scales> scales_;  // computed on first use
  size_t loose_ = 0;              // elements
  size_t stride_ = 1;             // every how many elements a share counts for the median
  CompareBlock block_;
  std::vector<double> shares_;
};

// Infinities of either sign are no finite results, whatever the sign is.
Bounded with_known_signs(Bounded b) {
  for (const int64_t i : b.either_infinity) b.e[static_cast<size_t>(i)] = 0;
  return b;
}

}  // namespace

Comparison compare(const Graph& graph, const std::vector<RegionOutput>& outputs, const Trace& trace,
                   ReferenceMemo* memo, ReadElements of_resolution) {
  Comparison result;
  for (const RegionOutput& output : outputs) {
    const TensorPtr& tensor = trace.values[static_cast<size_t>(output.value)];
    const BoundedPtr stored = memo ? memo->stored(tensor) : std::make_shared<const Bounded>(*tensor);
    Comparer(result, graph.name(output.value), output, *stored).run();
  }
  if (!result.lawful()) return result;
  for (const RegionOutput& output : outputs) {
    const Bounded& b = *output.bounded;
    result.resolution.add(
        resolution_of(b.either_infinity.empty() ? b : with_known_signs(b), output.computed, of_resolution));
  }
  return result;
}

double preference(const std::vector<RegionOutput>& a, const std::vector<RegionOutput>& b,
                  const Trace& trace) {
  int64_t nearer_a = 0, nearer_b = 0;
  for (size_t k = 0; k < a.size(); ++k) {
    const std::vector<double> got = to_f64(*trace.values[static_cast<size_t>(a[k].value)]);
    const std::vector<double>&va = a[k].bounded->v, &vb = b[k].bounded->v;
    for (size_t i = 0; i < got.size(); ++i) {
      const double to_a = std::fabs(got[i] - va[i]), to_b = std::fabs(got[i] - vb[i]);
      nearer_a += to_a < to_b;
      nearer_b += to_b < to_a;
    }
  }
  const int64_t differing = nearer_a + nearer_b;
  return differing == 0
             ? 0
             : static_cast<double>(nearer_a - nearer_b) / std::sqrt(static_cast<double>(differing));
}

}  // namespace fusesmith::oracle

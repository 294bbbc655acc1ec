#include "oracle/resolution.h"

#include <array>
#include <cmath>
#include <span>
#include <utility>
#include <vector>

#include "oracle/contract.h"

namespace fusesmith::oracle {
namespace {

constexpr size_t kBlock = 32;
constexpr double kNone = -1;
using Numbers = std::array<double, kBlock>;

struct Kind {
  bool rounds_to_f32;  // before the store, as in error_before_store
  double smallest;     // below it in magnitude, a result is stored as 0, or flushed to 0
  double floor;        // of results below it: an error up to it says nothing
  double largest;      // above it in magnitude, a result is stored as an infinity
  double smallest_binade, u;
};

Kind kind_of(Dtype dtype, bool computed) {
  const bool f16 = dtype == Dtype::f16;
  return {computed && is_narrow(dtype),
          f16 ? 0x1p-24 : 0x1p-126,
          f16 ? 0x1p-25 : 0x1p-100,
          max_finite(dtype) * (1 + unit_roundoff(dtype) / 2),
          std::ldexp(1.0, min_exponent(dtype)),
          unit_roundoff(dtype)};
}

// Written out, as in oracle/compare_block.cc, so that compilers vectorise the loops below.
template <bool kRoundsToF32>
inline double of_element(const Kind& kind, double v, double e) {
  const double magnitude = std::fabs(v), binade = binade_of(v);
  const double ulp = 2 * kind.u * (binade < kind.smallest_binade ? kind.smallest_binade : binade);
  const double error = kRoundsToF32 ? e + (kU * (magnitude + e) + 0x1p-150) : e;
  const double relative = (error + ulp) / magnitude;
  const bool ordinary = (magnitude >= kind.smallest) & (magnitude <= kind.largest);
  const bool unknown = (e > kind.floor) & !(magnitude - e > kind.largest);
  const double of_others = unknown ? kInfinity : kNone;
  return ordinary ? relative : of_others;
}

template <bool kRoundsToF32>
void of_block(const Kind& kind, const double* v, const double* e, double* resolutions) {
  const Kind local = kind;
  for (size_t i = 0; i < kBlock; ++i) resolutions[i] = of_element<kRoundsToF32>(local, v[i], e[i]);
}

// The least and the largest of a block.
std::pair<double, double> extremes(const Numbers& resolutions) {
  std::array<double, kBlock / 2> least, worst;
  for (size_t i = 0; i < kBlock / 2; ++i) {
    const double a = resolutions[i], b = resolutions[i + kBlock / 2];
    least[i] = a < b ? a : b;
    worst[i] = a < b ? b : a;
  }
  for (size_t half = kBlock / 4; half > 0; half /= 2) {
    for (size_t i = 0; i < half; ++i) {
      least[i] = least[i + half] < least[i] ? least[i + half] : least[i];
      worst[i] = worst[i] < worst[i + half] ? worst[i + half] : worst[i];
    }
  }
  return {least[0], worst[0]};
}

// The elements of an output.
class Reader {
 public:
  Reader(const Bounded& output, bool computed)
      : output_(output), kind_(kind_of(output.type.dtype, computed)) {}

  double at(size_t i) const {
    const double v = output_.v[i], e = output_.error(i);
    return kind_.rounds_to_f32 ? of_element<true>(kind_, v, e) : of_element<false>(kind_, v, e);
  }

  // Of those elements that have a resolution, at most as many as there is room for. The places of a sample
  // are spread by the golden ratio, which no row length is a multiple of.
  std::span<double> sample(std::span<double> room) const {
    constexpr double kGolden = 0.6180339887498949;
    const size_t n = output_.v.size(), count = std::min(room.size(), n);
    size_t found = 0;
    double place = 0;
    for (size_t i = 0; i < count; ++i) {
      const double resolution = at(count == n ? i : static_cast<size_t>(place * static_cast<double>(n)));
      if (resolution >= 0) room[found++] = resolution;
      place += kGolden;
      if (place >= 1) place -= 1;
    }
    return room.first(found);
  }

  // All but the median.
  Resolution of_all() {
    Resolution all{0, kInfinity, 0, 0};
    const size_t n = output_.v.size();
    for (size_t begin = 0; begin < n; begin += kBlock) {
      const size_t count = std::min(kBlock, n - begin);
      read(begin, count);
      const auto [least, worst] = extremes(resolutions_);
      all.worst = std::max(all.worst, worst);
      if (least >= 0) {
        all.least = std::min(all.least, least);
        all.elements += static_cast<int64_t>(count);
        continue;
      }
      for (size_t i = 0; i < count; ++i) {
        if (resolutions_[i] < 0) continue;
        all.least = std::min(all.least, resolutions_[i]);
        ++all.elements;
      }
    }
    return all.elements > 0 ? all : Resolution{};
  }

 private:
  static constexpr Numbers kZeros = {};

  void read(size_t begin, size_t count) {
    const double* v = output_.v.data() + begin;
    const double* e = output_.exact() ? kZeros.data() : output_.e.data() + begin;
    Numbers last_v = {}, last_e = {};  // zeros have no resolution
    if (count < kBlock) {
      std::copy_n(v, count, last_v.data());
      std::copy_n(e, count, last_e.data());
      v = last_v.data(), e = last_e.data();
    }
    if (kind_.rounds_to_f32)
      of_block<true>(kind_, v, e, resolutions_.data());
    else
      of_block<false>(kind_, v, e, resolutions_.data());
  }

  const Bounded& output_;
  const Kind kind_;
  Numbers resolutions_;
};

// Of a sample, which becomes another order of itself.
double median_of(std::span<double> sample) {
  const auto middle = sample.begin() + static_cast<std::ptrdiff_t>(sample.size() / 2);
  std::nth_element(sample.begin(), middle, sample.end());
  return *middle;
}

}  // namespace

double resolution_of_element(Dtype dtype, bool computed, double v, double e) {
  Bounded one(TensorType{dtype, {1}});
  one.set(0, v, e);
  return Reader(one, computed).at(0);
}

Resolution resolution_of(const Bounded& output, bool computed, ReadElements read) {
  if (!is_float(output.type.dtype)) return {};
  constexpr size_t kSample = 48;
  Reader reader(output, computed);
  std::array<double, kSample> some;
  std::vector<double> all;
  std::span<double> sample = reader.sample(some);
  if (sample.empty()) {  // few elements have one
    all.resize(output.v.size());
    sample = reader.sample(all);
  }
  if (sample.empty()) return {};
  const double median = median_of(sample);
  Resolution found{static_cast<int64_t>(sample.size()), *std::min_element(sample.begin(), sample.end()), 0,
                   *std::max_element(sample.begin(), sample.end())};
  if (read == ReadElements::all) found = reader.of_all();
  found.median = median;
  return found;
}

}  // namespace fusesmith::oracle

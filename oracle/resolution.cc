#include "oracle/resolution.h"

#include <array>
#include <cmath>
#include <vector>

#include "oracle/contract.h"

namespace fusesmith::oracle {
namespace {

constexpr size_t kBlock = 32;
constexpr double kNone = -1;
using Numbers = std::array<double, kBlock>;

struct Kind {
  Dtype dtype;
  bool rounds_to_f32;  // before the store, as in error_before_store
  double smallest;     // below it in magnitude, a result is stored as 0, or flushed to 0
  double floor;        // of results below it: an error up to it says nothing
  double largest;      // above it in magnitude, a result is stored as an infinity
};

Kind kind_of(Dtype dtype, bool computed) {
  const bool f16 = dtype == Dtype::f16;
  return {dtype, computed && is_16_bit(dtype), f16 ? 0x1p-24 : 0x1p-126, f16 ? 0x1p-25 : 0x1p-100,
          max_finite(dtype) * (1 + unit_roundoff(dtype) / 2)};
}

// Written out, as in oracle/compare_block.cc, so that compilers vectorise the loops below.
template <bool kRoundsToF32>
inline double of_element(const Kind& kind, double smallest_binade, double u, double v, double e) {
  const double magnitude = std::fabs(v), binade = binade_of(v);
  const double ulp = 2 * u * (binade < smallest_binade ? smallest_binade : binade);
  const double error = kRoundsToF32 ? e + (kU * (magnitude + e) + 0x1p-150) : e;
  const double relative = (error + ulp) / magnitude;
  const bool ordinary = (magnitude >= kind.smallest) & (magnitude <= kind.largest);
  const bool unknown = (e > kind.floor) & !(magnitude - e > kind.largest);
  const double of_others = unknown ? kInfinity : kNone;
  return ordinary ? relative : of_others;
}

template <bool kRoundsToF32>
void of_block(const Kind& kind, const double* v, const double* e, double* resolutions) {
  const double smallest_binade = std::ldexp(1.0, min_exponent(kind.dtype)), u = unit_roundoff(kind.dtype);
  for (size_t i = 0; i < kBlock; ++i)
    resolutions[i] = of_element<kRoundsToF32>(kind, smallest_binade, u, v[i], e[i]);
}

// What is known of the elements so far, by their place in a block.
struct Extremes {
  Numbers least, worst, count{};
  Extremes() { least.fill(kInfinity), worst.fill(kNone); }

  void add(const Numbers& resolutions) {
    for (size_t i = 0; i < kBlock; ++i) {
      const double r = resolutions[i];
      least[i] = (r >= 0) & (r < least[i]) ? r : least[i];
      worst[i] = r > worst[i] ? r : worst[i];
      count[i] += r >= 0 ? 1 : 0;
    }
  }
};

class Reader {
 public:
  Reader(const Bounded& output, bool computed)
      : output_(output), kind_(kind_of(output.type.dtype, computed)) {}

  // Takes one element in `stride` into the sample.
  void run(size_t stride) {
    const size_t n = output_.v.size();
    size_t next = 0;
    for (size_t begin = 0; begin < n; begin += kBlock) {
      const size_t count = std::min(kBlock, n - begin);
      read(begin, count);
      extremes.add(resolutions_);
      for (; next < begin + count; next += stride) {
        if (resolutions_[next - begin] >= 0) sample.push_back(resolutions_[next - begin]);
      }
    }
  }

  Extremes extremes;
  std::vector<double> sample;

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

}  // namespace

double resolution_of_element(Dtype dtype, bool computed, double v, double e) {
  const Kind kind = kind_of(dtype, computed);
  const double smallest_binade = std::ldexp(1.0, min_exponent(dtype)), u = unit_roundoff(dtype);
  return kind.rounds_to_f32 ? of_element<true>(kind, smallest_binade, u, v, e)
                            : of_element<false>(kind, smallest_binade, u, v, e);
}

Resolution resolution_of(const Bounded& output, bool computed) {
  if (!is_float(output.type.dtype)) return {};
  constexpr size_t kSample = 64;
  const size_t stride = output.v.size() / kSample | 1;  // odd: not always the same column
  Reader reader(output, computed);
  reader.run(stride);
  Resolution all;
  for (const double count : reader.extremes.count) all.elements += static_cast<int64_t>(count);
  if (all.elements == 0) return all;
  all.least = *std::min_element(reader.extremes.least.begin(), reader.extremes.least.end());
  all.worst = *std::max_element(reader.extremes.worst.begin(), reader.extremes.worst.end());
  std::vector<double>& sample = reader.sample;
  if (sample.empty()) {  // few elements have one, and the sample has none of them
    Reader every(output, computed);
    every.run(1);
    sample = std::move(every.sample);
  }
  const auto middle = sample.begin() + static_cast<std::ptrdiff_t>(sample.size() / 2);
  std::nth_element(sample.begin(), middle, sample.end());
  all.median = *middle;
  return all;
}

}  // namespace fusesmith::oracle

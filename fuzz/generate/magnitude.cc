#include "fuzz/generate/magnitude.h"

#include <algorithm>
#include <cmath>

namespace fusesmith::fuzz {
namespace {

template <class... F>
struct Overload : F... {
  using F::operator()...;
};
template <class... F>
Overload(F...) -> Overload<F...>;

}  // namespace

Magnitude magnitude_of(const Fill& fill) {
  return std::visit(
      Overload{
          [](const Normal& f) {
            return Magnitude{std::abs(f.mean) + f.stddev, true, std::abs(f.mean) > f.stddev};
          },
          [](const Uniform& f) {
            return Magnitude{std::max(std::abs(f.lo), std::abs(f.hi)) * 0.58, true, f.lo * f.hi >= 0};
          },
          [](const Lattice& f) {
            return Magnitude{std::ldexp(0.6 * static_cast<double>(f.max_abs), static_cast<int>(f.exponent))};
          },
          [](const Hadamard& f) { return Magnitude{std::abs(f.value)}; },
          [](const Special& f) {
            return Magnitude{2, !f.infinities};
          },
          [](const Constant& f) {
            return Magnitude{std::abs(f.value), std::isfinite(f.value), true};
          },
          [](const auto&) { return Magnitude{}; },
      },
      fill);
}

}  // namespace fusesmith::fuzz

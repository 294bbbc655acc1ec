#include "fuzz/order/random_operands.h"

#include <algorithm>
#include <cmath>
#include <numeric>
#include <random>

namespace fusesmith::fuzz {
namespace {

class Draw {
 public:
  Draw(ProductData data, uint64_t seed, Dtype dtype) : data_(data), dtype_(dtype), random_(seed) {}

  float operator()() {
    auto x = static_cast<double>(normal_(random_));
    if (data_ == ProductData::spread) x = std::ldexp(x, exponent_(random_));
    if (data_ == ProductData::positive) x = std::fabs(x);
    if (data_ == ProductData::cancelling) x *= 4;  // so that rounding errors are normal numbers of f16
    return static_cast<float>(round_to(dtype_, x));
  }

  // Pairs of terms, and perhaps one without a partner.
  std::vector<size_t> pairs(size_t terms) {
    std::vector<size_t> order(terms);
    std::iota(order.begin(), order.end(), size_t{0});
    std::shuffle(order.begin(), order.end(), random_);
    return order;
  }

 private:
  const ProductData data_;
  const Dtype dtype_;
  std::mt19937_64 random_;
  std::normal_distribution<float> normal_;
  std::uniform_int_distribution<int> exponent_{-6, 6};
};

// The terms of each pair become opposite; one without a partner becomes 0. Factors differ by a power of two,
// so that not even an order by size has partners side by side.
void make_opposite(const std::vector<size_t>& order, bool has_products, Operands& in) {
  const auto terms = static_cast<size_t>(in.terms), columns = static_cast<size_t>(in.columns);
  for (size_t i = 0; i + 1 < terms; i += 2) {
    const size_t k = order[i], partner = order[i + 1];
    const double scale = has_products ? std::ldexp(1, static_cast<int>(i / 2 % 5) - 2) : 1;
    const auto scaled = [&](float x, double by) {  // exact but for subnormal numbers
      return static_cast<float>(round_to(in.dtype, static_cast<double>(x) * by));
    };
    for (size_t row = 0; row < static_cast<size_t>(in.rows); ++row)
      in.a[row * terms + partner] = scaled(in.a[row * terms + k], -scale);
    for (size_t column = 0; has_products && column < columns; ++column)
      in.b[partner * columns + column] = scaled(in.b[k * columns + column], 1 / scale);
  }
  if (terms % 2 == 0) return;
  for (size_t row = 0; row < static_cast<size_t>(in.rows); ++row) in.a[row * terms + order.back()] = 0;
}

}  // namespace

void fill_random(ProductData data, uint64_t seed, bool has_products, Operands& operands) {
  Draw draw(data, seed, operands.dtype);
  operands.a.resize(static_cast<size_t>(operands.rows * operands.terms));
  operands.b.assign(static_cast<size_t>(operands.terms * operands.columns), 1.0f);
  std::generate(operands.a.begin(), operands.a.end(), std::ref(draw));
  if (has_products) std::generate(operands.b.begin(), operands.b.end(), std::ref(draw));
  if (data == ProductData::cancelling && operands.terms > 1)
    make_opposite(draw.pairs(static_cast<size_t>(operands.terms)), has_products, operands);
}

}  // namespace fusesmith::fuzz

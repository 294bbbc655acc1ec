// One operation of a tensor core on integers: the products of a group and partial sums are aligned at the
// largest exponent, cut off below it, added exactly, and rounded. After MMA-Sim (arXiv 2511.10909).
#pragma once

#include <cstdint>
#include <vector>

#include "fuzz/order/node_arithmetic.h"

namespace fusesmith::fuzz {

// x = digits 2^exponent; `top`: the exponent that it is aligned by, that of its first significant bit.
struct Significand {
  int64_t digits = 0;  // 0: x is 0
  int exponent = 0, top = 0;
};

// `least_top`: of subnormal numbers that are not normalised, that of the smallest normal one.
constexpr int kNormalises = -1000;
Significand significand_of(float x, int least_top = kNormalises);

class TensorCore {
 public:
  explicit TensorCore(const NodeArithmetic& arithmetic) : arithmetic_(arithmetic) {}

  void add(float partial_sum);
  // A product of operands of at most 11 significant bits. Its exponent is the sum of the factors' exponents.
  void add(const Significand& a, const Significand& b);
  // The sum of what was added since the last call.
  float take();

 private:
  void add_part(const Significand& part);

  float rounded(double exact) const;

  const NodeArithmetic arithmetic_;
  std::vector<Significand> parts_;
  int largest_ = 0;
};

}  // namespace fusesmith::fuzz

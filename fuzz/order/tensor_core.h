// One operation of a tensor core on integers: the products of a group and partial sums are aligned at the
// largest exponent, cut off below it, added exactly, and rounded to f32. After MMA-Sim (arXiv 2511.10909).
#pragma once

#include <cstdint>
#include <vector>

#include "graph/namespaces.h"

namespace fusesmith::fuzz {

// x = digits 2^exponent; `top`: the exponent of its first significant bit.
struct Significand {
  int64_t digits = 0;  // 0: x is 0
  int exponent = 0, top = 0;
};

Significand significand_of(float x);

class TensorCore {
 public:
  TensorCore(int fraction_bits, bool rounds_to_nearest)
      : fraction_bits_(fraction_bits), rounds_to_nearest_(rounds_to_nearest) {}

  void add(float partial_sum);
  // A product of operands of at most 11 significant bits. Its exponent is the sum of the factors' exponents.
  void add(const Significand& a, const Significand& b);
  // The sum of what was added since the last call.
  float take();

 private:
  void add_part(const Significand& part);

  int fraction_bits_;
  bool rounds_to_nearest_;
  std::vector<Significand> parts_;
  int largest_ = 0;
};

}  // namespace fusesmith::fuzz

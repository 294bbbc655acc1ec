// NodeArithmetic: how a kernel computes the operations of its summation tree (docs/orders.md).
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "fuzz/order/sum_tree.h"
#include "graph/dtype.h"

namespace fusesmith::fuzz {

struct NodeArithmetic {
  enum class Kind : uint8_t {
    f32,          // each operation rounds to nearest
    f64,          // the same in f64, and once to f32 at the end
    narrow_sums,  // each operation in f32, its result rounded to the operands' 16-bit dtype
    // A group of products and the sum so far are aligned at their largest exponent, cut off `fraction_bits`
    // below it, added exactly, and rounded to `out_bits`. Sums of partial sums are f32 additions.
    tensor_core,
  };
  static constexpr std::string_view kKinds[] = {"f32", "f64", "narrow_sums", "tensor_core"};
  // `tf32_nearest`: ties to even; `tf32_nearest_away`: ties away from zero, as cvt.rna of PTX.
  enum class Operands : uint8_t { kept, tf32_truncated, tf32_nearest, tf32_nearest_away };
  static constexpr std::string_view kOperands[] = {"kept", "tf32_truncated", "tf32_nearest",
                                                   "tf32_nearest_away"};

  Kind kind = Kind::f32;
  int fraction_bits = 0;           // of a tensor core
  bool rounds_to_nearest = false;  // the result of a group; else towards zero
  Operands operands = Operands::kept;
  int out_bits = 23;       // fraction bits of the sum of a group; 23: it is an f32
  bool normalises = true;  // else a subnormal operand counts with the smallest exponent of its dtype
  bool operator==(const NodeArithmetic&) const = default;
};

// "f32, each operation rounded to nearest".
std::string to_string(const NodeArithmetic& arithmetic);

// What may have computed this tree, the likeliest first. `tf32`: whether f32 operands may have been rounded.
std::vector<NodeArithmetic> possible_arithmetic(const SumTree& tree, graph::Dtype operands, bool tf32);

}  // namespace fusesmith::fuzz

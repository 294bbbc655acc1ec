#include "fuzz/order/node_arithmetic.h"

namespace fusesmith::fuzz {
namespace {

using Kind = NodeArithmetic::Kind;
using Reads = NodeArithmetic::Operands;

// Fraction bits below the largest exponent: 25 on Hopper and Blackwell, 24 on Ampere and Ada, 23 on Volta and
// Turing (MMA-Sim, arXiv 2511.10909); the others are for what is not known yet.
constexpr int kFractionBits[] = {25, 24, 23, 26, 27, 28, 22, 21, 13};

struct Bits {
  int fraction, out;
};
// Of products of 8-bit floats: the first is that of Hopper and Ada, the second that of Blackwell (MMA-Sim);
// the others are for what is not known yet.
constexpr Bits kBitsOf8BitFloats[] = {{13, 13}, {25, 23}, {13, 23}, {14, 14}, {14, 13}, {13, 14},
                                      {12, 12}, {24, 23}, {23, 23}, {26, 23}, {34, 23}, {35, 23}};

// Hopper does not normalise subnormal operands (docs/results/fp8.md).
std::vector<NodeArithmetic> arithmetic_of_8_bit_floats(const SumTree& tree) {
  std::vector<NodeArithmetic> all;
  if (tree.is_binary()) all.push_back({.kind = Kind::f32});
  for (const bool to_nearest : {false, true}) {
    for (const bool normalises : {false, true}) {
      for (const Bits& bits : kBitsOf8BitFloats)
        all.push_back({Kind::tensor_core, bits.fraction, to_nearest, Reads::kept, bits.out, normalises});
    }
  }
  all.push_back({.kind = Kind::f64});
  return all;
}

}  // namespace

std::string to_string(const NodeArithmetic& arithmetic) {
  std::string text;
  switch (arithmetic.kind) {
    case Kind::f32:
      text = "f32, each operation rounded to nearest";
      break;
    case Kind::f64:
      text = "f64, rounded to f32 at the end";
      break;
    case Kind::narrow_sums:
      text = "f32, each partial sum rounded to 16 bits";
      break;
    case Kind::tensor_core:
      text = "tensor core with " + std::to_string(arithmetic.fraction_bits) +
             " fraction bits, groups rounded " +
             (arithmetic.rounds_to_nearest ? "to nearest" : "towards zero");
      if (arithmetic.out_bits != 23) text += ", to " + std::to_string(arithmetic.out_bits) + " fraction bits";
      if (!arithmetic.normalises) text += "; subnormal operands are not normalised";
      break;
  }
  if (arithmetic.operands == Reads::tf32_truncated) text += "; operands cut off to tf32";
  if (arithmetic.operands == Reads::tf32_nearest) text += "; operands rounded to tf32";
  if (arithmetic.operands == Reads::tf32_nearest_away)
    text += "; operands rounded to tf32, ties away from zero";
  return text;
}

std::vector<NodeArithmetic> possible_arithmetic(const SumTree& tree, graph::Dtype operands, bool tf32) {
  if (graph::is_quantized(operands)) return arithmetic_of_8_bit_floats(tree);
  std::vector<NodeArithmetic> all;
  const bool is_narrow = graph::is_narrow(operands);
  std::vector<Reads> reads = {Reads::kept};
  if (tf32 && !is_narrow) {
    reads = {Reads::tf32_nearest, Reads::tf32_nearest_away, Reads::tf32_truncated, Reads::kept};
  }
  for (const Reads read : reads) {
    if (tree.is_binary()) {
      all.push_back({.kind = Kind::f32, .operands = read});
      if (is_narrow) all.push_back({.kind = Kind::narrow_sums});
    }
    if (is_narrow || read != Reads::kept) {
      for (const bool to_nearest : {false, true}) {
        for (const int bits : kFractionBits) all.push_back({Kind::tensor_core, bits, to_nearest, read});
      }
    }
    all.push_back({.kind = Kind::f64, .operands = read});
  }
  return all;
}

}  // namespace fusesmith::fuzz

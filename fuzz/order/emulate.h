// Computes sums along a known tree with a known arithmetic, bit for bit as the kernel does.
#pragma once

#include <cmath>
#include <memory>
#include <span>
#include <vector>

#include "fuzz/order/node_arithmetic.h"
#include "fuzz/order/sum_tree.h"

namespace fusesmith::fuzz {

// Operands of rows x columns sums of `terms` products: a [rows, terms], b [terms, columns]. They are values
// of `dtype`.
struct Operands {
  int64_t rows = 0, terms = 0, columns = 0;
  graph::Dtype dtype = graph::Dtype::f32;
  std::vector<float> a, b;
};

// The accumulators, [rows, columns], in f32: before any epilogue and before they are rounded to the dtype of
// the result.
std::vector<float> emulate(const SumTree& tree, const NodeArithmetic& arithmetic, const Operands& operands);

// Whether an emulated result is that of the kernel: the same number, or both NaN.
inline bool is_same(double a, double b) { return a == b || (std::isnan(a) && std::isnan(b)); }

}  // namespace fusesmith::fuzz

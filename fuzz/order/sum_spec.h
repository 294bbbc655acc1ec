// SumSpec: a graph of one product or sum, whose order of additions is to be revealed.
#pragma once

#include <string>

#include "graph/graph.h"

namespace fusesmith::fuzz {

struct SumSpec {
  std::string op = "matmul";  // of kSumOps
  Dtype dtype = Dtype::f32;
  // m x n results of k terms each, `batch` times. reduce_sum sums the axis of k of x [m, k, n], or of x [m,
  // k] for n = 1.
  int64_t m = 64, n = 64, k = 512, batch = 1;
  bool transpose_a = false, transpose_b = false;  // matmul, einsum
  bool bias = false;                              // linear
  bool relu = false;                              // on the result: fused backends have kernels for it
  bool tf32 = false;                              // f32 operands may be rounded
};

inline constexpr std::string_view kSumOps[] = {"matmul", "linear", "einsum", "reduce_sum"};

// The inputs are a and b, x, w and the bias, or x.
Result<Graph> graph_of(const SumSpec& spec);

// "matmul f32, m = 64, n = 64, k = 512".
std::string to_string(const SumSpec& spec);

}  // namespace fusesmith::fuzz

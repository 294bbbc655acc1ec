// Sums of products over strided f32 operands: the common form of matmul, linear and einsum.
#pragma once

#include "graph/tensor.h"

namespace fusesmith::backends {

// Axes with the same role in a product: their sizes, and their strides in both operands and in the result.
struct ProductAxes {
  Shape sizes, a, b, out;
  void add(int64_t size, int64_t a_stride, int64_t b_stride, int64_t out_stride);
  int64_t volume() const { return element_count(sizes); }
};

// out[batch, m, n] = sum over k of a[batch, m, k] b[batch, k, n].
struct Product {
  ProductAxes batch;  // of the result; an operand that broadcasts along such an axis has stride 0
  ProductAxes m;      // of a and the result
  ProductAxes n;      // of b and the result
  ProductAxes k;      // summed; an operand that lacks such an axis has stride 0
};

// Writes every element of `out`. Every product a b is one term of the sum, in f32 and in any order;
// single-threaded, and the same bits for the same product wherever the operands lie in memory.
void multiply(const Product& product, const float* a, const float* b, float* out);

}  // namespace fusesmith::backends

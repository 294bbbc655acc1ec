// How a product becomes calls of a batched, column-major GEMM that knows leading dimensions and batch strides
// only: which operands are packed first, and whether the result is scattered afterwards. Device-free.
#pragma once

#include <optional>

#include "backends/common/multiply.h"

namespace fusesmith::backends {

// A copy: element i of the index space, in row-major order, is read at its strides. Merged, it has at most
// kMaxRank + 1 axes: those of its tensor, and one for all summed axes that the tensor lacks, which
// order_summed() puts next to each other.
struct Packing {
  Shape sizes, strides;
};

// out = op(first) op(second) for each element of a batch, column-major as BLAS means it: [m, k] times [k, n];
// an operand that is transposed lies as [k, m] or [n, k]. Strides and offsets in elements.
struct Gemm {
  struct Operand {
    bool transposed = false;
    int ld = 1;  // at least the rows of the matrix as it lies, and 1
    int64_t batch_stride = 0;
  };
  int m = 1, n = 1, k = 1;
  Operand first, second, out;
  // One call each; a batch of 1 needs no strides.
  struct Call {
    int64_t first = 0, second = 0, out = 0;  // offsets
    int batch = 1;
  };
  std::vector<Call> calls;
};

struct GemmPlan {
  std::optional<Packing> pack_a, pack_b;  // then read instead of a and b
  Gemm gemm;
  bool swapped = false;           // the gemm's first operand is b
  std::optional<Packing> unpack;  // then the gemm writes scratch of as many elements, and out is read from it
};

// Every axis of `product` is 1 or more, and its result is dense: all elements of a tensor, each once. Terms
// are products a b of stored elements, as multiply() says.
GemmPlan plan_gemm(Product product);

}  // namespace fusesmith::backends

// Fused products that cublasLtMatmul supports without copies: one axis in each group, one unit stride in each
// operand, and an epilogue that is a bias or an addend, so that the sum is rounded once, as by gemm.cu.
//
// Activations are not left to it: CUBLASLT_EPILOGUE_RELU turns NaN into 0 (NVIDIA forum 329783), and the
// precision of CUBLASLT_EPILOGUE_GELU is not documented.
#pragma once

#include <compare>
#include <optional>

#include "backends/cuda/runtime/launch.h"
#include "backends/rewrite/fused_op.h"

namespace fusesmith::backends {

// A column-major matrix of each batch element, or the transpose of one.
struct LtOperand {
  bool transposed = false;
  int64_t leading = 1;  // dimension, in elements
  int64_t batch_stride = 0;
  auto operator<=>(const LtOperand&) const = default;
};

// d [rows, columns] = a [rows, depth] b [depth, columns] + c + bias [rows], for each element of a batch.
struct LtGemm {
  Dtype dtype = Dtype::f32;
  bool tf32 = false;
  int64_t rows = 1, columns = 1, depth = 1, batch = 1;
  LtOperand a, b, c, d;
  bool swapped = false;  // rows are n: a is the right operand of the FusedGemm, b the left one
  bool adds_c = false;   // the addend
  bool bias = false;     // the bias, or the addend if not adds_c
  auto operator<=>(const LtGemm&) const = default;
};

// The product of the first `depth` terms as an LtGemm, if it has that form.
std::optional<LtGemm> lt_gemm(const FusedGemm& gemm, int64_t depth, Dtype dtype, bool tf32);

struct LtPointers {
  const void *a = nullptr, *b = nullptr, *c = nullptr, *bias = nullptr;  // as in LtGemm
  void* d = nullptr;
};

// False, with nothing launched, if the library has no algorithm. Plans are cached for the life of the
// process.
bool launch_lt_gemm(const LtGemm& gemm, const LtPointers& pointers, const StreamHandles& handles);

}  // namespace fusesmith::backends

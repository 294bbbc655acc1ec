// out = sum over blocks of (a b^T) times one or two factors, in f32, rounded at the store; and x w^T, w being
// codes times the scales of their groups. One thread for each element of the result: clear rather than fast.
#pragma once

#include <cuda_runtime_api.h>

#include "backends/cuda/kernels/storage.h"

namespace fusesmith::backends {

struct ScaledProductFaults {
  bool first_of_four, last_unscaled, last_dropped, transposed_scales, column_by_row, second_missing;
  bool sums_in_bf16, product_in_bf16, left_format, subnormals_as_zero, tail_not_read;
};

struct ScaleFactor {  // f32
  const float* data;
  int block, row, column;  // strides
};

struct ScaledProductParams {
  const void *a, *b;  // [blocks, rows, depth], [blocks, columns, depth]
  void* out;          // [rows, columns]
  Storage a_storage, b_storage, out_storage;
  int blocks, rows, columns, depth;
  ScaleFactor factors[2];
  int factor_count;
  bool factors_first;
  ScaledProductFaults faults;
};

struct DequantizedProductFaults {
  bool nibbles_exchanged, is_unsigned, first_group, next_group, clamps_negative, last_unscaled;
};

struct DequantizedProductParams {
  const void* x;                  // [rows, depth]
  const void* codes;              // [columns, depth]
  const void* scale;              // [columns, groups]
  void* out;                      // [rows, columns]
  Storage storage, code_storage;  // of x, scale and out
  int rows, columns, groups, depth;
  DequantizedProductFaults faults;
};

cudaError_t launch_scaled_product(const ScaledProductParams& params, cudaStream_t stream);
cudaError_t launch_dequantized_product(const DequantizedProductParams& params, cudaStream_t stream);

}  // namespace fusesmith::backends

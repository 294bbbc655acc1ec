#include "backends/cuda/kernels/device_math.cuh"
#include "backends/cuda/kernels/elements.cuh"
#include "backends/cuda_fused/device/planted.cuh"
#include "backends/cuda_fused/gemm/scaled_product.h"

namespace fusesmith::backends {
namespace {

using namespace device;

__device__ float in_bf16(float x) { return round_to(Storage::bf16, x); }

__device__ float code_at(const ScaledProductParams& p, bool right, int64_t i) {
  const Storage own = right ? p.b_storage : p.a_storage;
  const auto code = static_cast<const uint8_t*>(right ? p.b : p.a)[i];
  const float x = load_quantized(planted(p.faults.left_format) ? p.a_storage : own, code);
  const float smallest = ldexpf(1.0f, format_of(own).min_exponent);
  return planted(p.faults.subnormals_as_zero) && fabsf(x) < smallest ? 0.0f : x;
}

__device__ float block_product(const ScaledProductParams& p, int block, int row, int column) {
  const int64_t a = (static_cast<int64_t>(block) * p.rows + row) * p.depth;
  const int64_t b = (static_cast<int64_t>(block) * p.columns + column) * p.depth;
  const int depth = planted(p.faults.tail_not_read) && p.depth > 16 ? p.depth / 16 * 16 : p.depth;
  float sum = 0;
  for (int k = 0; k < depth; ++k) sum = fmaf(code_at(p, false, a + k), code_at(p, true, b + k), sum);
  return planted(p.faults.product_in_bf16) ? in_bf16(sum) : sum;
}

__device__ float factor_at(const ScaledProductParams& p, int which, int block, int row, int column) {
  const ScaleFactor& f = p.factors[which];
  if (planted(p.faults.first_of_four)) block -= block % 4;
  if (planted(p.faults.column_by_row)) column = min(row, p.columns - 1);
  const bool exchanged = planted(p.faults.transposed_scales) && f.row == 1 && f.block == p.rows;
  const int offset = exchanged ? block + row * p.blocks : block * f.block + row * f.row;
  return f.data[offset + column * f.column];
}

__device__ float scaled(const ScaledProductParams& p, int block, int row, int column) {
  const float product = block_product(p, block, row, column);
  if (planted(p.faults.last_unscaled) && p.blocks > 1 && block == p.blocks - 1) return product;
  const float first = factor_at(p, 0, block, row, column);
  if (p.factor_count < 2 || planted(p.faults.second_missing)) return product * first;
  const float second = factor_at(p, 1, block, row, column);
  return p.factors_first ? product * (first * second) : product * first * second;
}

__global__ void scaled_product(const __grid_constant__ ScaledProductParams p) {
  const int i = element_index();
  if (i >= p.rows * p.columns) return;
  const int row = i / p.columns, column = i % p.columns;
  int blocks = p.blocks;
  if (planted(p.faults.last_dropped) && blocks > 1 && blocks % 2 == 1) --blocks;
  float sum = scaled(p, 0, row, column);
  for (int block = 1; block < blocks; ++block) {
    // Not contracted to one fused multiply-add: the graph rounds the scaled product.
    sum = __fadd_rn(sum, scaled(p, block, row, column));
    if (planted(p.faults.sums_in_bf16)) sum = in_bf16(sum);
  }
  store_float(p.out, p.out_storage, i, sum);
}

__device__ float weight_at(const DequantizedProductParams& p, int column, int k) {
  const bool packed = p.code_storage == Storage::s4 || p.code_storage == Storage::f4e2m1;
  if (planted(p.faults.nibbles_exchanged) && packed) k = min(k ^ 1, p.depth - 1);
  const auto code = static_cast<const uint8_t*>(p.codes)[static_cast<int64_t>(column) * p.depth + k];
  const bool is_integer = p.code_storage == Storage::s4 || p.code_storage == Storage::s8;
  float x = load_quantized(p.code_storage, code);
  if (planted(p.faults.is_unsigned) && is_integer) x = static_cast<float>(code);
  return planted(p.faults.clamps_negative) ? fmaxf(x, 0.0f) : x;
}

__device__ float group_scale(const DequantizedProductParams& p, int column, int k) {
  int group = k / (p.depth / p.groups);
  if (planted(p.faults.last_unscaled) && p.groups > 1 && group == p.groups - 1) return 1;
  if (planted(p.faults.first_group) && p.depth / p.groups > 32) group = 0;
  if (planted(p.faults.next_group)) group = min(group + 1, p.groups - 1);
  return load_float(p.scale, p.storage, static_cast<int64_t>(column) * p.groups + group);
}

__global__ void dequantized_product(const __grid_constant__ DequantizedProductParams p) {
  const int i = element_index();
  if (i >= p.rows * p.columns) return;
  const int row = i / p.columns, column = i % p.columns;
  float sum = 0;
  for (int k = 0; k < p.depth; ++k) {
    const float weight = __fmul_rn(weight_at(p, column, k), group_scale(p, column, k));
    sum = fmaf(load_float(p.x, p.storage, static_cast<int64_t>(row) * p.depth + k), weight, sum);
  }
  store_float(p.out, p.storage, i, sum);
}

}  // namespace

cudaError_t launch_scaled_product(const ScaledProductParams& params, cudaStream_t stream) {
  scaled_product<<<element_blocks(params.rows * params.columns), kElementThreads, 0, stream>>>(params);
  return cudaGetLastError();
}

cudaError_t launch_dequantized_product(const DequantizedProductParams& params, cudaStream_t stream) {
  dequantized_product<<<element_blocks(params.rows * params.columns), kElementThreads, 0, stream>>>(params);
  return cudaGetLastError();
}

}  // namespace fusesmith::backends

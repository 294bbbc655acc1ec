// 16 bytes per thread if they are aligned, otherwise one element per thread.
#include "backends/cuda/kernels/elements.cuh"
#include "backends/cuda_fused/device/activation.cuh"
#include "backends/cuda_fused/device/pieces.cuh"
#include "backends/cuda_fused/device/planted.cuh"
#include "backends/cuda_fused/rows/gate.h"

namespace fusesmith::backends {
namespace {

using namespace device;

// Whether thread i of `count` has nothing to do.
__device__ bool is_idle(int i, int count, bool tail_block_skipped) {
  if (planted(tail_block_skipped)) count -= count % kElementThreads;
  return i >= count;
}

template <class T>
__global__ void gate_pieces(const __grid_constant__ GateParams p) {
  const int row_pieces = p.columns / Piece<T>::kSize, i = element_index();
  if (is_idle(i, p.rows * row_pieces, p.tail_block_skipped)) return;
  const int row = i / row_pieces, column = i % row_pieces * Piece<T>::kSize;
  const T *gates = static_cast<const T*>(p.gate) + row * p.gate_pitch,
          *values = static_cast<const T*>(p.value) + row * p.value_pitch;
  const Piece<T> gate = load(gates, column, p.columns), value = load(values, column, p.columns);
  Piece<T> y;
#pragma unroll
  for (int j = 0; j < Piece<T>::kSize; ++j)
    y.at[j] = from_float<T>(activate(p.activation, gate[j]) * value[j]);
  store(static_cast<T*>(p.out) + row * p.columns, column, p.columns, y);
}

__global__ void gate_elements(const __grid_constant__ GateParams p) {
  const int i = element_index();
  if (is_idle(i, p.rows * p.columns, p.tail_block_skipped)) return;
  const int row = i / p.columns, column = i % p.columns;
  float x = activate(p.activation, load_float(p.gate, p.gate_storage, row * p.gate_pitch + column));
  if (p.casts) x = round_to(p.cast, x);
  store_float(p.out, p.storage, i, x * load_float(p.value, p.storage, row * p.value_pitch + column));
}

template <class T>
void launch_pieces(const GateParams& p, cudaStream_t stream) {
  gate_pieces<T><<<element_blocks(p.rows * (p.columns / Piece<T>::kSize)), kElementThreads, 0, stream>>>(p);
}

}  // namespace

cudaError_t launch_gate(const GateParams& params, cudaStream_t stream) {
  if (!params.vectors)
    gate_elements<<<element_blocks(params.rows * params.columns), kElementThreads, 0, stream>>>(params);
  else if (params.storage == Storage::f32)
    launch_pieces<float>(params, stream);
  else if (params.storage == Storage::f16)
    launch_pieces<__half>(params, stream);
  else
    launch_pieces<__nv_bfloat16>(params, stream);
  return cudaGetLastError();
}

}  // namespace fusesmith::backends

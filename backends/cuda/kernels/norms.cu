// One warp per short row, one block per long row. The order of sums depends only on the number of columns.
#include "backends/cuda/kernels/device_math.cuh"
#include "backends/cuda/kernels/norms.h"
#include "backends/cuda/kernels/row_reduce.cuh"

namespace fusesmith::backends {
namespace {

using namespace device;

template <class T, int kWarps>
__global__ void normalize_rows(NormRows norm) {
  const RowThread<kWarps> thread;
  if (thread.row >= norm.rows) return;  // whole warps of short rows; never a part of a long row's block
  const int first = thread.row * norm.columns;
  const T* x = static_cast<const T*>(norm.x) + first;
  T* y = static_cast<T*>(norm.y) + first;
  const T* weight = static_cast<const T*>(norm.weight);
  const T* bias = static_cast<const T*>(norm.bias);
  const float n = static_cast<float>(norm.columns);

  float mean = 0;
  if (norm.centred) {
    float sum = 0;
    for (int i = thread.lane; i < norm.columns; i += thread.kLanes) sum += to_float(x[i]);
    mean = over_row<kWarps>(sum, Add{}) / n;
  }
  float squares = 0;
  for (int i = thread.lane; i < norm.columns; i += thread.kLanes) {
    const float difference = to_float(x[i]) - mean;
    squares += difference * difference;
  }
  float rstd = reciprocal_sqrt(over_row<kWarps>(squares, Add{}) / n + norm.eps);
  mean = shown(norm.mean, thread.row, mean, thread.lane == 0);
  rstd = shown(norm.rstd, thread.row, rstd, thread.lane == 0);
  const bool by_column = norm.plane == 1 && norm.channels == norm.columns;
  for (int i = thread.lane; i < norm.columns; i += thread.kLanes) {
    const int channel = by_column ? i : (first + i) / norm.plane % norm.channels;
    float value = (to_float(x[i]) - mean) * rstd;
    if (weight != nullptr) value *= to_float(weight[channel]);
    if (bias != nullptr) value += to_float(bias[channel]);
    y[i] = from_float<T>(value);
  }
}

template <class T>
cudaError_t launch(const NormRows& norm, cudaStream_t stream) {
  for_rows(norm.rows, norm.columns, [&](unsigned blocks, unsigned threads, auto warps) {
    normalize_rows<T, decltype(warps)::value><<<blocks, threads, 0, stream>>>(norm);
  });
  return cudaGetLastError();
}

}  // namespace

cudaError_t launch_norm(const NormRows& norm, cudaStream_t stream) {
  switch (norm.storage) {
    case Storage::f16:
      return launch<__half>(norm, stream);
    case Storage::bf16:
      return launch<__nv_bfloat16>(norm, stream);
    default:
      return launch<float>(norm, stream);
  }
}

}  // namespace fusesmith::backends

// RMSNorm on the GPU as a plug-in of fusesmith: one block for each row, four elements for each thread at a
// time. With RMS_NORM_BUG, the elements behind the last full group of four are missing in the mean.
#include <cuda_bf16.h>
#include <cuda_runtime.h>

#include "rms_norm_graph.h"

namespace {

constexpr int kThreads = 256;

__device__ float load(float x) { return x; }
__device__ float load(__nv_bfloat16 x) { return __bfloat162float(x); }
__device__ void store(float x, float& y) { y = x; }
__device__ void store(float x, __nv_bfloat16& y) { y = __float2bfloat16_rn(x); }

// The sum over all threads of the block, in each of them.
__device__ float sum_of_block(float x) {
  __shared__ float sums[kThreads];
  sums[threadIdx.x] = x;
  __syncthreads();
  for (int width = kThreads / 2; width > 0; width /= 2) {
    if (threadIdx.x < width) sums[threadIdx.x] += sums[threadIdx.x + width];
    __syncthreads();
  }
  return sums[0];
}

template <class T>
__global__ void rms_norm_kernel(const T* x, const T* weight, T* y, int64_t n, float eps) {
  x += blockIdx.x * n;
  y += blockIdx.x * n;
  float sum = 0;
  const int64_t full = n / 4 * 4;
  for (int64_t i = 4 * threadIdx.x; i < full; i += 4 * kThreads) {
    for (int j = 0; j < 4; ++j) sum += load(x[i + j]) * load(x[i + j]);
  }
#ifndef RMS_NORM_BUG
  if (full + threadIdx.x < n) sum += load(x[full + threadIdx.x]) * load(x[full + threadIdx.x]);
#endif
  const float factor = 1 / sqrtf(sum_of_block(sum) / static_cast<float>(n) + eps);
  for (int64_t i = threadIdx.x; i < n; i += kThreads)
    store(load(x[i]) * factor * (weight ? load(weight[i]) : 1), y[i]);
}

template <class T>
void launch(const RmsNorm& norm, const DLTensor* inputs, const DLTensor& output, cudaStream_t stream) {
  const Rows rows = rows_of(output);
  const T* weight = norm.weight < 0 ? nullptr : static_cast<const T*>(inputs[norm.weight].data);
  rms_norm_kernel<T><<<static_cast<unsigned>(rows.count), kThreads, 0, stream>>>(
      static_cast<const T*>(inputs[norm.x].data), weight, static_cast<T*>(output.data), rows.length,
      norm.eps);
}

RmsNorm current;  // of the graph that fusesmith_plugin_supports has seen last

}  // namespace

uint32_t fusesmith_plugin_abi_version(void) { return FUSESMITH_PLUGIN_ABI_VERSION; }

int32_t fusesmith_plugin_device_type(void) { return kDLCUDA; }

const char* fusesmith_plugin_supports(const char* graph) { return parse_rms_norm(graph, current); }

// Neither allocates nor waits: fusesmith waits for the stream.
const char* fusesmith_plugin_run(const char*, const DLTensor* inputs, size_t, const DLTensor* outputs, size_t,
                                 void* stream) {
  if (outputs[0].dtype.code == kDLBfloat)
    launch<__nv_bfloat16>(current, inputs, outputs[0], static_cast<cudaStream_t>(stream));
  else
    launch<float>(current, inputs, outputs[0], static_cast<cudaStream_t>(stream));
  const cudaError_t status = cudaGetLastError();
  return status == cudaSuccess ? nullptr : cudaGetErrorString(status);
}

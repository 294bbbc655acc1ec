// The least that the bounded reference of an n x n product would cost on a GPU: two f64 products by cuBLAS,
// operands already there, the results copied back. oracle/evaluate_bench.cc has the same on a CPU core.
#include <benchmark/benchmark.h>
#include <cublas_v2.h>
#include <cuda_runtime_api.h>

#include "backends/cuda/cuda_backend.h"

namespace fusesmith::backends {
namespace {

void on_a_gpu(benchmark::State& state) {
  if (const auto why = cuda_backend().unavailable()) return state.SkipWithError(why->c_str());
  const int n = static_cast<int>(state.range(0));
  const size_t bytes = sizeof(double) * static_cast<size_t>(n) * static_cast<size_t>(n);
  double *device = nullptr, *host = nullptr;
  cublasHandle_t handle = nullptr;
  cudaStream_t stream = nullptr;
  if (cudaMalloc(reinterpret_cast<void**>(&device), 4 * bytes) != cudaSuccess ||
      cudaMallocHost(reinterpret_cast<void**>(&host), 2 * bytes) != cudaSuccess ||
      cudaMemset(device, 0, 4 * bytes) != cudaSuccess || cudaStreamCreate(&stream) != cudaSuccess ||
      cublasCreate(&handle) != CUBLAS_STATUS_SUCCESS ||
      cublasSetStream(handle, stream) != CUBLAS_STATUS_SUCCESS)
    return state.SkipWithError("no memory or no cuBLAS");
  const double one = 1, zero = 0;
  const size_t size = bytes / sizeof(double);
  for (auto _ : state) {
    for (size_t i = 0; i < 2; ++i)
      cublasDgemm(handle, CUBLAS_OP_N, CUBLAS_OP_N, n, n, n, &one, device, n, device + size, n, &zero,
                  device + (2 + i) * size, n);
    cudaMemcpyAsync(host, device + 2 * size, 2 * bytes, cudaMemcpyDeviceToHost, stream);
    cudaStreamSynchronize(stream);
  }
  cublasDestroy(handle);
  cudaStreamDestroy(stream);
  cudaFreeHost(host);
  cudaFree(device);
}
BENCHMARK(on_a_gpu)
    ->Name("reference/gpu")
    ->RangeMultiplier(2)
    ->Range(32, 1024)
    ->Unit(benchmark::kMicrosecond);

}  // namespace
}  // namespace fusesmith::backends

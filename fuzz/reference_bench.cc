// Where the bounded reference should run: a matrix product of n x n as the judge evaluates it on one core,
// against the least that a GPU would need for the same (two f64 products by cuBLAS, operands already there,
// their results copied back). Seconds per product; a machine has many cores and cases for them.
#include <benchmark/benchmark.h>

#include "fuzz/backends.h"
#include "oracle/evaluate.h"
#ifdef FUSESMITH_HAS_CUDA
#include <cublas_v2.h>
#include <cuda_runtime_api.h>
#endif

namespace fusesmith {
namespace {

void on_the_cpu(benchmark::State& state) {
  const int64_t n = state.range(0);
  Builder b;
  const ValueId x = b.input("x", {Dtype::f32, {n, n}}, Normal{}),
                y = b.input("y", {Dtype::f32, {n, n}}, Normal{});
  b.output(b.node(Matmul{}, {x, y}, "product"));
  const Graph graph = *b.build();
  std::vector<TensorPtr> inputs;
  for (const Input& input : graph.inputs())
    inputs.push_back(std::make_shared<const Tensor>(materialize(input.fill, input.type, 1, input.name, 0)));
  const auto program = std::move(*find_backend("cpu")->compile(graph, {}));
  const Trace trace = program->run(inputs);
  for (auto _ : state)
    benchmark::DoNotOptimize(evaluate(graph, program->plan().regions.front(), trace, Reading{}));
}
BENCHMARK(on_the_cpu)
    ->Name("reference/cpu_core")
    ->RangeMultiplier(2)
    ->Range(32, 1024)
    ->Unit(benchmark::kMicrosecond);

#ifdef FUSESMITH_HAS_CUDA
void on_a_gpu(benchmark::State& state) {
  if (const auto why = find_backend("cuda")->unavailable()) return state.SkipWithError(why->c_str());
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
#endif

}  // namespace
}  // namespace fusesmith

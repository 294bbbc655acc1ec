// The bounded reference of an n x n product on one core; backends/cuda/f64_product_bench.cc has what a GPU
// would need.
#include <benchmark/benchmark.h>

#include "graph/fill.h"
#include "oracle/evaluate.h"

namespace fusesmith::oracle {
namespace {

void on_the_cpu(benchmark::State& state) {
  const TensorType type{Dtype::f32, {state.range(0), state.range(0)}};
  Builder b;
  b.output(b.node(Matmul{}, {b.input("x", type, Normal{}), b.input("y", type, Normal{})}, "product"));
  const Graph graph = *b.build();
  Trace trace;
  for (const char* name : {"x", "y"})
    trace.values.push_back(std::make_shared<const Tensor>(materialize(Normal{}, type, 1, name, 0)));
  trace.values.push_back(nullptr);
  const Region region = make_region(graph, {0});
  for (auto _ : state) benchmark::DoNotOptimize(evaluate(graph, region, trace, Reading{}));
}
BENCHMARK(on_the_cpu)
    ->Name("reference/cpu_core")
    ->RangeMultiplier(2)
    ->Range(32, 1024)
    ->Unit(benchmark::kMicrosecond);

}  // namespace
}  // namespace fusesmith::oracle

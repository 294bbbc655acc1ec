// Fused against unfused: each pattern's first example on `cuda` and on `cuda_fused` in one run, as a user
// would run it. Counters: microseconds of both and unfused / fused.
#include <benchmark/benchmark.h>

#include "backends/cuda/cuda_backend.h"
#include "backends/cuda/program_runs.h"
#include "backends/cuda_fused/cuda_fused_backend.h"
#include "backends/rewrite/pattern.h"

namespace fusesmith {
namespace {

constexpr int kRepeats = 50;

std::vector<TensorPtr> draw(const Graph& graph) {
  std::vector<TensorPtr> inputs;
  for (const Input& input : graph.inputs())
    inputs.push_back(std::make_shared<const Tensor>(materialize(input.fill, input.type, 1, input.name, 0)));
  return inputs;
}

double microseconds(const Backend& backend, const Graph& graph, const CompileOptions& options,
                    std::span<const TensorPtr> inputs) {
  return production_microseconds(**backend.compile(graph, options), inputs, kRepeats);
}

void compare(benchmark::State& state, const Pattern& pattern, Dtype dtype, const CompileOptions& options) {
  if (const auto why = cuda_backend().unavailable()) return state.SkipWithError(why->c_str());
  const int64_t rows = state.range(0);
  const Graph graph = pattern.examples[0].build(dtype, {2, 16, rows, rows, 64, 64});
  const std::vector<TensorPtr> inputs = draw(graph);
  double unfused = 0, fused = 0;
  for (auto _ : state) {
    unfused = microseconds(cuda_backend(), graph, options, inputs);
    fused = microseconds(cuda_fused_backend(), graph, options, inputs);
    state.SetIterationTime(1e-6 * (unfused + fused));
  }
  state.counters["unfused_us"] = unfused;
  state.counters["fused_us"] = fused;
  state.counters["ratio"] = unfused / fused;
}

void add(const Pattern& pattern, Dtype dtype, bool tf32) {
  CompileOptions options;
  options.tf32 = tf32;
  const std::string name =
      std::string(pattern.name) + "/" + (tf32 ? "tf32" : std::string(fusesmith::name(dtype)));
  benchmark::RegisterBenchmark(
      name.c_str(),
      [&pattern, dtype, options](benchmark::State& state) { compare(state, pattern, dtype, options); })
      ->Arg(128)
      ->Arg(512)
      ->Arg(1024)
      ->UseManualTime()
      ->Iterations(3);
}

[[maybe_unused]] const bool kAdded = [] {
  for (const Pattern& pattern : all_patterns()) {
    for (Dtype dtype : kFloatDtypes) add(pattern, dtype, false);
    add(pattern, Dtype::f32, true);
  }
  return true;
}();

}  // namespace
}  // namespace fusesmith

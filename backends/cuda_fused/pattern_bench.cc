// Compares fused with unfused execution: examples of each pattern on `cuda` and `cuda_fused`, as production
// runs. Counters: microseconds of both, and their ratio unfused / fused.
#include <benchmark/benchmark.h>

#include "backends/cuda/cuda_backend.h"
#include "backends/cuda/runtime/program_runs.h"
#include "backends/cuda_fused/cuda_fused_backend.h"
#include "backends/rewrite/pattern.h"

namespace fusesmith::backends {
namespace {

constexpr int kRepeats = 20;

// An example of a pattern at sizes that models use. Patterns without an entry run their first example.
struct Work {
  std::string_view pattern, example;
  std::vector<ExampleDims> sizes;
};

// As many queries as keys; heads of so many columns.
std::vector<ExampleDims> attention_of(std::initializer_list<int64_t> lengths, int64_t head = 64) {
  std::vector<ExampleDims> sizes;
  for (int64_t length : lengths) sizes.push_back({2, 16, length, length, head, head});
  return sizes;
}

std::vector<ExampleDims> norms_of(std::initializer_list<int64_t> columns) {
  std::vector<ExampleDims> sizes;
  for (int64_t count : columns) {
    for (int64_t rows : {512, 1024}) sizes.push_back({8, 1, rows, rows, count, count});
  }
  return sizes;
}

const std::vector<Work>& works() {
  static const std::vector<Work> kWorks = {
      {"sdpa", "single_head_pattern_11", attention_of({128, 512, 1024, 2048})},
      {"sdpa", "multi_head", attention_of({512, 1024, 2048})},
      {"sdpa", "multi_head", attention_of({512}, 128)},
      {"sdpa", "causal_top_left", attention_of({1024})},
      {"sdpa", "boolean_mask", attention_of({1024})},
      {"layer_norm_welford", "affine", norms_of({768, 1024, 4096})},
  };
  return kWorks;
}

std::vector<TensorPtr> draw(const Graph& graph) {
  std::vector<TensorPtr> sources;
  const auto add = [&](const auto& source) {
    const Tensor tensor = materialize(source.fill, source.type, 1, source.name, 0);
    sources.push_back(std::make_shared<const Tensor>(tensor));
  };
  for (const Input& input : graph.inputs()) add(input);
  for (const State& state : graph.states()) add(state);
  return sources;
}

double microseconds(const Backend& backend, const Graph& graph, const CompileOptions& options,
                    std::span<const TensorPtr> inputs) {
  return production_microseconds(**backend.compile(graph, options), inputs, kRepeats);
}

void compare(benchmark::State& state, const Graph& graph, const CompileOptions& options) {
  if (const auto why = cuda_backend().unavailable()) return state.SkipWithError(why->c_str());
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

void add(const Pattern& pattern, const GraphRecipe& recipe, const ExampleDims& dims) {
  const auto add_one = [&](Dtype dtype, bool tf32) {
    CompileOptions options;
    options.tf32 = tf32;
    std::string name = std::string(pattern.name) + "/" + (tf32 ? "tf32" : std::string(graph::name(dtype)));
    name +=
        "/" + std::string(recipe.name) + "/" + std::to_string(dims.rows) + "x" + std::to_string(dims.depth);
    benchmark::RegisterBenchmark(name.c_str(),
                                 [build = recipe.build, dims, dtype, options](benchmark::State& state) {
                                   compare(state, build(dtype, dims), options);
                                 })
        ->UseManualTime()
        ->Iterations(3);
  };
  for (Dtype dtype : kFloatDtypes) add_one(dtype, false);
  if (pattern.name != "layer_norm_welford") add_one(Dtype::f32, true);
}

[[maybe_unused]] const bool kAdded = [] {
  for (const Pattern& pattern : all_patterns()) {
    bool listed = false;
    for (const Work& work : works()) {
      if (work.pattern != pattern.name) continue;
      listed = true;
      for (const GraphRecipe& recipe : pattern.examples) {
        if (recipe.name != work.example) continue;
        for (const ExampleDims& dims : work.sizes) add(pattern, recipe, dims);
      }
    }
    if (listed) continue;
    for (const ExampleDims& dims : attention_of({128, 512, 1024})) add(pattern, pattern.examples[0], dims);
  }
  return true;
}();

}  // namespace
}  // namespace fusesmith::backends

// Where the time of a judged case goes: the stages of generated cases, one thread, mean microseconds per
// case.
#include <benchmark/benchmark.h>

#include <chrono>

#include "fuzz/counts/coverage.h"
#include "fuzz/generate/generator.h"
#include "fuzz/run/backends.h"
#include "graph/case.h"
#include "oracle/judge.h"
#ifdef FUSESMITH_HAS_CUDA
#include "backends/cuda/runtime/program_runs.h"
#endif

namespace fusesmith::fuzz {
namespace {

class Stopwatch {
 public:
  // Seconds since the last call, or since construction.
  double lap() {
    const auto now = std::chrono::steady_clock::now();
    const double seconds = std::chrono::duration<double>(now - last_).count();
    last_ = now;
    return seconds;
  }

 private:
  std::chrono::steady_clock::time_point last_ = std::chrono::steady_clock::now();
};

struct Stages {
  double generate = 0, text = 0, data = 0, compile = 0, baseline = 0, candidate = 0, judge = 0, coverage = 0;
  double launches = 0;
};

std::optional<size_t> launches(const Backend& backend, const Program& program) {
#ifdef FUSESMITH_HAS_CUDA
  if (backend.name().starts_with("cuda")) return launch_count(program);
#endif
  (void)backend, (void)program;
  return {};
}

void run_case(uint64_t counter, const Backend& baseline, const Backend& candidate, Coverage& met,
              Stages& sum) {
  Stopwatch watch;
  const Case test_case = generate_case(1, 0, counter);
  sum.generate += watch.lap();
  benchmark::DoNotOptimize(parse_case(to_json(test_case)).ok());
  sum.text += watch.lap();
  std::vector<TensorPtr> inputs;
  for (Tensor& tensor : make_inputs(test_case))
    inputs.push_back(std::make_shared<const Tensor>(std::move(tensor)));
  for (const State& s : test_case.graph.states())
    inputs.push_back(std::make_shared<const Tensor>(data_of(test_case, s)));
  sum.data += watch.lap();
  const auto base = std::move(*baseline.compile(test_case.graph, {}));
  const auto fused = std::move(*candidate.compile(test_case.graph, {}));
  sum.compile += watch.lap();
  const Trace base_trace = base->run(inputs);
  const auto base_recheck = base->recheck(inputs, base_trace);
  sum.baseline += watch.lap();
  const Trace fused_trace = fused->run(inputs);
  const auto fused_recheck = fused->recheck(inputs, fused_trace);
  sum.candidate += watch.lap();
  const Verdict verdict =
      judge(test_case, {std::string(baseline.name()), &base->plan(), &base_trace, base_recheck},
            {std::string(candidate.name()), &fused->plan(), &fused_trace, fused_recheck},
            {.minimal_deviations = false});
  benchmark::DoNotOptimize(verdict.finding);
  sum.judge += watch.lap();
  CoverageEvents events;
  add_graph_events(events, test_case.graph, "natural");
  add_plan_events(events, test_case.graph, fused->plan());
  met.add(events);
  sum.coverage += watch.lap();
  sum.launches +=
      static_cast<double>(launches(baseline, *base).value_or(0) + launches(candidate, *fused).value_or(0));
}

void stages(benchmark::State& state, const char* baseline, const char* candidate) {
  const Backend *base = find_backend(baseline), *fused = find_backend(candidate);
  if (!base || !fused) return state.SkipWithError("not in this build");
  if (const auto why = base->unavailable()) return state.SkipWithError(why->c_str());
  constexpr uint64_t kCases = 400;
  Coverage met;
  Stages ignored, sum;
  for (uint64_t i = 0; i < 50; ++i) run_case(i, *base, *fused, met, ignored);  // caches, lazy loading
  for (auto _ : state) {
    sum = {};
    for (uint64_t i = 0; i < kCases; ++i) run_case(i, *base, *fused, met, sum);
  }
  const auto count = [&](const char* name, double seconds) { state.counters[name] = 1e6 * seconds / kCases; };
  count("generate_us", sum.generate);
  count("json_us", sum.text);
  count("data_us", sum.data);
  count("compile_us", sum.compile);
  count("baseline_us", sum.baseline);
  count("candidate_us", sum.candidate);
  count("judge_us", sum.judge);
  count("coverage_us", sum.coverage);
  state.counters["launches"] = sum.launches / kCases;
}

BENCHMARK_CAPTURE(stages, cpu, "cpu", "cpu_fused")->Iterations(1)->Unit(benchmark::kMillisecond);
BENCHMARK_CAPTURE(stages, cuda, "cuda", "cuda_fused")->Iterations(1)->Unit(benchmark::kMillisecond);

}  // namespace
}  // namespace fusesmith::fuzz

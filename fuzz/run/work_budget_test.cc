// How much work a judged case may take, counted in allocations and in elements of references, not in time, so
// that a change that makes cases slower is noticed on any machine. The budgets are per node, since a new op
// changes which cases a seed gives and how large they are. If a budget is exceeded for a good reason, measure
// anew and say so in docs/benchmarks.md.
#include <gtest/gtest.h>

#include <iostream>
#include <tuple>
#include <utility>

#include "fuzz/generate/generator.h"
#include "fuzz/run/backends.h"
#include "fuzz/run/run_case.h"
#include "graph/sanitizers.h"
#include "oracle/region_judge.h"
#if FUSESMITH_ADDRESS_SANITIZER
#include <sanitizer/allocator_interface.h>
#endif

namespace fusesmith::fuzz {
namespace {

constexpr uint64_t kCases = 240;

#if FUSESMITH_ADDRESS_SANITIZER
thread_local uint64_t allocations_of_thread = 0;
uint64_t allocations() {
  static const int installed = __sanitizer_install_malloc_and_free_hooks(
      [](const volatile void*, size_t) { ++allocations_of_thread; }, [](const volatile void*) {});
  EXPECT_GT(installed, 0);
  return allocations_of_thread;
}
#else
uint64_t allocations() { return 0; }
#endif

// Per case, in the mean of the first cases of seed 1.
struct Work {
  double nodes = 0, generate = 0, compile = 0, run = 0, judge = 0;  // allocations, but for `nodes`
  double computed = 0, reused = 0;                                  // elements of references
};

class Counter {
 public:
  double since_last() {
    const uint64_t now = allocations(), before = std::exchange(last_, now);
    return static_cast<double>(now - before) / kCases;
  }

 private:
  uint64_t last_ = allocations();
};

void judge_all(const Case& test_case, const Program& program, const Trace& trace,
               oracle::RegionJudgeOptions& options) {
  for (size_t r = 0; r < program.plan().regions.size(); ++r)
    oracle::judge_region(test_case.graph, program.plan(), r, trace, options);
}

void add_case(uint64_t counter, Work& work) {
  const Backend &cpu = *find_backend("cpu"), &fused = *find_backend("cpu_fused");
  Counter counted;
  const Case test_case = generate_case(1, 0, counter);
  work.generate += counted.since_last();
  std::vector<TensorPtr> sources;
  for (Tensor& input : make_inputs(test_case))
    sources.push_back(std::make_shared<const Tensor>(std::move(input)));
  for (const State& state : test_case.graph.states())
    sources.push_back(std::make_shared<const Tensor>(data_of(test_case, state)));
  counted.since_last();
  const auto baseline = std::move(*cpu.compile(test_case.graph, {}));
  const auto candidate = std::move(*fused.compile(test_case.graph, {}));
  work.compile += counted.since_last();
  const Trace baseline_trace = baseline->run(sources), candidate_trace = candidate->run(sources);
  work.run += counted.since_last();
  const Verdict verdict =
      oracle::judge(test_case, {"cpu", &baseline->plan(), &baseline_trace, {}},
                    {"cpu_fused", &candidate->plan(), &candidate_trace, {}}, {.minimal_deviations = false});
  work.judge += counted.since_last();
  EXPECT_FALSE(verdict.finding);
  work.nodes += static_cast<double>(test_case.graph.nodes().size()) / kCases;
  oracle::ReferenceMemo memo;
  oracle::RegionJudgeOptions options{.minimal_deviations = false, .memo = &memo};
  judge_all(test_case, *baseline, baseline_trace, options);
  judge_all(test_case, *candidate, candidate_trace, options);
  work.computed += static_cast<double>(memo.computed_elements()) / kCases;
  work.reused += static_cast<double>(memo.reused_elements()) / kCases;
}

TEST(WorkBudget, OfACase) {
#if !FUSESMITH_ADDRESS_SANITIZER
  GTEST_SKIP() << "AddressSanitizer counts the allocations";
#endif
  Work warm_up, work;
  add_case(0, warm_up);  // lists that are made once
  for (uint64_t counter = 0; counter < kCases; ++counter) add_case(counter, work);
  const std::tuple<const char*, double, double> budgets[] = {
      {"allocations of the generator", work.generate, 92},
      {"allocations of both compilations", work.compile, 40},
      {"allocations of one run of each", work.run, 53},
      {"allocations of the judge", work.judge, 101},
      {"elements of references", work.computed, 2950},
  };
  for (const auto& [what, of_case, budget] : budgets) {
    const double measured = of_case / work.nodes;
    std::cout << what << ": " << measured << " a node of a case of " << work.nodes << ", budget " << budget
              << "\n";
    EXPECT_LE(measured, budget) << what;
    EXPECT_GE(measured, budget / 2) << what << ": the budget can be smaller";
  }
  std::cout << "elements of references that were used again: " << work.reused << " a case\n";
  EXPECT_GE(work.reused, work.computed / 20) << "readings and backends should share references";
}

}  // namespace
}  // namespace fusesmith::fuzz

// libFuzzer target: bytes as the generator's choices, then as patterns to turn off. Every valid graph has a
// plan that covers each node once, whatever patterns are on, and a valid refusal names a pattern that is on.
#include <algorithm>
#include <cstdint>

#include "backends/rewrite/pattern.h"
#include "backends/rewrite/rewrite.h"
#include "fuzz/generate/generator.h"
#include "fuzz/targets/plan_check.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  using namespace fusesmith;
  static const fuzz::GeneratorOptions options{.max_nodes = 24, .engine = fuzz::Engine::focused};
  fuzz::Choices choices(std::span<const uint8_t>(data, size));
  const fuzz::Case test_case = generate(choices, options);
  backends::CompileOptions compile;
  for (const backends::Pattern& pattern : backends::all_patterns()) {
    if (choices.flip(0.2)) compile.skip_patterns.emplace_back(pattern.name);
  }
  compile.tf32 = choices.flip(0.5);
  oracle::Plan plan;
  for (auto& fused : backends::rewrite(test_case.graph, compile, {}, &plan.refusals))
    plan.regions.push_back(std::move(fused.region));
  fuzz::check_plan(test_case.graph, plan);
  const auto is_off = [&](const std::string& pattern) {
    return std::count(compile.skip_patterns.begin(), compile.skip_patterns.end(), pattern) > 0;
  };
  for (const oracle::Region& region : plan.regions)
    fuzz::check(std::none_of(region.patterns.begin(), region.patterns.end(), is_off),
                "no pattern that is off");
  for (const oracle::Refusal& refusal : plan.refusals)
    fuzz::check(!is_off(refusal.pattern), "no refusal of it");
  return 0;
}

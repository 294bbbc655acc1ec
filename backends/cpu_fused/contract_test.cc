// Every pattern keeps its word: the judge finds each example lawful on cpu_fused, with no deviation that its
// contract does not declare, and with none at all in f32.
#include <gtest/gtest.h>

#include "backends/cpu_fused/fused_test_support.h"
#include "oracle/judge.h"

namespace fusesmith {
namespace {

constexpr ExampleDims kDims[] = {{},
                                 {1, 1, 1, 1, 1, 1},
                                 {2, 1, 15, 33, 31, 17},
                                 {1, 2, 17, 65, 64, 16},
                                 {2, 2, 16, 130, 8, 8},
                                 {1, 1, 3, 5, 257, 4}};

std::string evidence(const RegionVerdict& region) {
  const ElementEvidence& worst = region.worst;
  return std::string(name(region.verdict)) + " " + region.symptom + ": element " +
         std::to_string(worst.element) + " of " + worst.value + " is " + number_text(worst.got) +
         ", expected " + number_text(worst.lo) + " to " + number_text(worst.hi) + ", outside " +
         std::to_string(region.outside) + " of " + std::to_string(region.elements);
}

class PatternContract : public testing::TestWithParam<const Pattern*> {};

TEST_P(PatternContract, CoversItsExamples) {
  for (const GraphRecipe& recipe : GetParam()->examples) {
    for (Dtype dtype : kFloatDtypes) {
      for (size_t i = 0; i < std::size(kDims); ++i) {
        SCOPED_TRACE(std::string(recipe.name) + " " + std::string(name(dtype)) + " dims " +
                     std::to_string(i));
        const Graph graph = recipe.build(dtype, kDims[i]);
        const FusedRun run = run_fused_plan(graph, draw_inputs(graph, i));
        const BackendVerdict verdict = judge_backend(graph, {"cpu_fused", &run.plan, &run.trace});
        for (const RegionVerdict& region : verdict.regions) {
          EXPECT_LE(region.verdict, VerdictClass::precision_policy) << evidence(region);
          EXPECT_TRUE(region.declared);
          if (dtype == Dtype::f32) {
            EXPECT_TRUE(region.deviations.empty());
          }
        }
      }
    }
  }
}

std::vector<const Pattern*> pattern_pointers() {
  std::vector<const Pattern*> result;
  for (const Pattern& pattern : all_patterns()) result.push_back(&pattern);
  return result;
}

INSTANTIATE_TEST_SUITE_P(All, PatternContract, testing::ValuesIn(pattern_pointers()),
                         [](const auto& param_info) { return std::string(param_info.param->name); });

}  // namespace
}  // namespace fusesmith

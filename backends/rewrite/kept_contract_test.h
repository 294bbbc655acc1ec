// For tests: a fusing backend keeps the contract of a pattern. With every example, dtype and size, results
// are within their bounds with no undeclared deviation, and in f32 without any deviation.
#pragma once

#include "backends/common/lawful_test.h"
#include "backends/rewrite/pattern.h"

namespace fusesmith::backends::testing_cases {

// Boundary sizes of tiles and warps, on both sides.
inline constexpr ExampleDims kContractDims[] = {{},
                                                {1, 1, 1, 1, 1, 1},
                                                {2, 1, 15, 33, 31, 17},
                                                {1, 2, 17, 65, 64, 16},
                                                {2, 2, 16, 130, 8, 8},
                                                {1, 1, 3, 5, 257, 4},
                                                {1, 2, 3, 200, 12, 20}};

// Rows of norms that several warps share, and such as do not stay in registers.
inline constexpr ExampleDims kLongRows[] = {
    {1, 1, 3, 4, 1500, 4}, {1, 1, 2, 4, 4096, 4}, {2, 1, 3, 4, 9001, 4}};
inline constexpr std::string_view kNormPatterns[] = {"layer_norm_welford", "add_norm"};

// Returns how many regions were judged conclusively. Every example in every dtype meets one of `share` sizes,
// in turn.
inline int expect_contract_kept(const Backend& backend, const Pattern& pattern,
                                std::span<const ExampleDims> all_dims = kContractDims,
                                const CompileOptions& options = {}, size_t share = 1) {
  int judged = 0;
  size_t turn = 0;
  for (const GraphRecipe& recipe : pattern.examples) {
    for (Dtype dtype : kFloatDtypes) {
      ++turn;
      for (size_t i = turn % share; i < all_dims.size(); i += share) {
        SCOPED_TRACE(std::string(recipe.name) + " " + std::string(name(dtype)) + " dims " +
                     std::to_string(i));
        const BackendVerdict verdict = judge_on(backend, recipe.build(dtype, all_dims[i]), i, options);
        for (const RegionVerdict& region : verdict.regions) {
          // Scores of deep heads carry so much of tf32's error that their softmax may be nearly anything.
          if (options.tf32 && region.verdict == VerdictClass::inconclusive) continue;
          ++judged;
          EXPECT_LE(region.verdict, VerdictClass::precision_policy) << evidence(region);
          EXPECT_TRUE(region.declared);
          if (dtype == Dtype::f32) {
            EXPECT_TRUE(region.deviations.empty());
          }
        }
      }
    }
  }
  return judged;
}

inline std::vector<const Pattern*> pattern_pointers() {
  std::vector<const Pattern*> result;
  for (const Pattern& pattern : all_patterns()) result.push_back(&pattern);
  return result;
}

}  // namespace fusesmith::backends::testing_cases

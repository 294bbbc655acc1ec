// The laws of every pattern: it matches each of its examples as a whole, leaves each near miss alone and says
// which guard refuses it, and can be turned off.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <functional>
#include <set>

#include "backends/rewrite/rewrite.h"

namespace fusesmith::backends {
namespace {

constexpr ExampleDims kDims[] = {
    {}, {1, 1, 1, 1, 1, 1}, {2, 3, 16, 16, 16, 16}, {3, 2, 4, 4, 4, 4}, {1, 2, 17, 33, 9, 31}};

bool mentions(const std::vector<FusedRegion>& regions, std::string_view pattern) {
  return std::any_of(regions.begin(), regions.end(), [&](const FusedRegion& fused) {
    const auto& names = fused.region.patterns;
    return std::find(names.begin(), names.end(), pattern) != names.end();
  });
}

void for_each_graph(const GraphRecipe& recipe, const std::function<void(const Graph&)>& f) {
  for (Dtype dtype : kFloatDtypes) {
    for (const ExampleDims& dims : kDims) {
      SCOPED_TRACE(std::string(recipe.name) + " " + std::string(name(dtype)));
      f(recipe.build(dtype, dims));
    }
  }
}

void for_each_recipe(std::span<const GraphRecipe> recipes, const std::function<void(const Graph&)>& f) {
  for (const GraphRecipe& recipe : recipes) for_each_graph(recipe, f);
}

// The guards with which the pattern refuses something in the graph.
std::set<std::string> refusing_guards(const Graph& graph, std::string_view pattern) {
  std::vector<Refusal> refusals;
  rewrite(graph, {}, {}, &refusals);
  std::set<std::string> guards;
  for (const Refusal& refusal : refusals) {
    if (refusal.pattern == pattern) guards.insert(refusal.guard);
  }
  return guards;
}

class PatternLaws : public testing::TestWithParam<const Pattern*> {};

TEST_P(PatternLaws, DeclaresItself) {
  const Pattern& pattern = *GetParam();
  EXPECT_FALSE(pattern.name.empty());
  EXPECT_FALSE(pattern.doc.empty());
  EXPECT_FALSE(pattern.examples.empty());
  EXPECT_FALSE(pattern.near_misses.empty());
  EXPECT_EQ(find_pattern(pattern.name), &pattern);
}

TEST_P(PatternLaws, MatchesItsExamplesAsAWhole) {
  for_each_recipe(GetParam()->examples, [&](const Graph& graph) {
    const auto regions = rewrite(graph, {});
    ASSERT_EQ(regions.size(), 1u) << to_string(graph);
    EXPECT_EQ(regions[0].region.patterns.front(), GetParam()->name);
    EXPECT_EQ(regions[0].region.nodes.size(), graph.nodes().size());
    EXPECT_THAT(regions[0].region.outputs, testing::UnorderedElementsAreArray(graph.outputs()));
  });
}

TEST_P(PatternLaws, LeavesItsNearMissesAlone) {
  for_each_recipe(GetParam()->near_misses, [&](const Graph& graph) {
    EXPECT_FALSE(mentions(rewrite(graph, {}), GetParam()->name)) << to_string(graph);
  });
}

TEST_P(PatternLaws, NoGuardRefusesItsExamples) {
  for_each_recipe(GetParam()->examples, [&](const Graph& graph) {
    EXPECT_EQ(refusing_guards(graph, GetParam()->name), std::set<std::string>()) << to_string(graph);
  });
}

// A near miss is refused by a guard, unless it says that it is no candidate at all; and each guard is needed.
TEST_P(PatternLaws, GuardsRefuseItsNearMisses) {
  const Pattern& pattern = *GetParam();
  const std::set<std::string> listed(pattern.guards.begin(), pattern.guards.end());
  EXPECT_EQ(listed.size(), pattern.guards.size()) << "a guard is listed twice";
  std::set<std::string> named;
  for (const GraphRecipe& recipe : pattern.near_misses) {
    for_each_graph(recipe, [&](const Graph& graph) {
      const std::set<std::string> guards = refusing_guards(graph, pattern.name);
      EXPECT_EQ(guards.empty(), recipe.unrecognised) << to_string(graph);
      named.insert(guards.begin(), guards.end());
    });
  }
  EXPECT_EQ(named, listed);
}

TEST_P(PatternLaws, CanBeTurnedOff) {
  CompileOptions options;
  options.skip_patterns = {std::string(GetParam()->name)};
  for_each_recipe(GetParam()->examples, [&](const Graph& graph) {
    EXPECT_FALSE(mentions(rewrite(graph, options), GetParam()->name)) << to_string(graph);
  });
}

// Only 16-bit values that the region reads itself have a rounding to drop, be they outputs too or not.
TEST_P(PatternLaws, DeclaresDeviationsOfInnerValues) {
  for_each_recipe(GetParam()->examples, [&](const Graph& graph) {
    const auto regions = rewrite(graph, {});
    for (const Deviation& deviation : regions[0].region.contract.deviations) {
      if (is_lowering(deviation)) continue;
      EXPECT_TRUE(is_narrow(deviation.dtype));
      const std::string node = deviation.value.substr(0, deviation.value.find('/'));
      const auto value = graph.find(node);
      ASSERT_TRUE(value) << deviation.value;
      const bool read_inside = !graph.consumers()[static_cast<size_t>(*value)].empty();
      EXPECT_EQ(read_inside, node == deviation.value) << deviation.value;
    }
  });
}

std::vector<const Pattern*> pattern_pointers() {
  std::vector<const Pattern*> result;
  for (const Pattern& pattern : all_patterns()) result.push_back(&pattern);
  return result;
}

INSTANTIATE_TEST_SUITE_P(All, PatternLaws, testing::ValuesIn(pattern_pointers()),
                         [](const auto& param_info) { return std::string(param_info.param->name); });

}  // namespace
}  // namespace fusesmith::backends

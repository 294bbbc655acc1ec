// Every example and near miss of every pattern, in every float dtype and with dims at the tiles' boundaries,
// against f64.
#include "backends/cpu_fused/cpu_fused_backend.h"

#include <gtest/gtest.h>

#include "backends/cpu_fused/fused_test_support.h"

namespace fusesmith::backends {
namespace {

// Query tiles have 16 rows, key tiles 32, panels 16 columns.
constexpr ExampleDims kDims[] = {{},
                                 {1, 1, 1, 1, 1, 1},
                                 {2, 1, 15, 31, 3, 17},
                                 {1, 2, 16, 32, 8, 16},
                                 {3, 3, 17, 33, 9, 15},
                                 {2, 2, 33, 65, 5, 1}};

double tolerance(Dtype dtype) { return dtype == Dtype::f32 ? 1e-4 : dtype == Dtype::f16 ? 6e-3 : 4e-2; }

bool has_narrow_cast(const Graph& graph) {
  return std::any_of(graph.nodes().begin(), graph.nodes().end(), [](const Node& node) {
    const auto* cast = std::get_if<Cast>(&node.op);
    return cast && is_narrow(cast->dtype);
  });
}

// Codes, and what is computed from them, are as far from their definition as their format is coarse.
bool has_codes(const Graph& graph) {
  return std::any_of(graph.nodes().begin(), graph.nodes().end(), [](const Node& node) {
    const auto* cast = std::get_if<Cast>(&node.op);
    return cast && is_quantized(cast->dtype);
  });
}

void run_recipes(std::span<const GraphRecipe> recipes) {
  for (const GraphRecipe& recipe : recipes) {
    for (Dtype dtype : kFloatDtypes) {
      for (size_t i = 0; i < std::size(kDims); ++i) {
        SCOPED_TRACE(std::string(recipe.name) + " " + std::string(name(dtype)) + " dims " +
                     std::to_string(i));
        const Graph graph = recipe.build(dtype, kDims[i]);
        if (has_codes(graph)) continue;
        const auto inputs = draw_inputs(graph);
        const double allowed = tolerance(has_narrow_cast(graph) ? Dtype::bf16 : dtype);
        EXPECT_EQ(output_mismatch(graph, inputs, allowed), "");
      }
    }
  }
}

class PatternOnCpuFused : public testing::TestWithParam<const Pattern*> {};

TEST_P(PatternOnCpuFused, ExamplesAreNearTheirDefinition) { run_recipes(GetParam()->examples); }

TEST_P(PatternOnCpuFused, NearMissesAreNearTheirDefinition) { run_recipes(GetParam()->near_misses); }

std::vector<const Pattern*> pattern_pointers() {
  std::vector<const Pattern*> result;
  for (const Pattern& pattern : all_patterns()) result.push_back(&pattern);
  return result;
}

INSTANTIATE_TEST_SUITE_P(All, PatternOnCpuFused, testing::ValuesIn(pattern_pointers()),
                         [](const auto& param_info) { return std::string(param_info.param->name); });

TEST(CpuFused, TraceHoldsOnlyWhatReachesMemory) {
  const Graph graph = find_pattern("sdpa")->examples[0].build(Dtype::bf16, {});
  const auto run = run_fused_plan(graph, draw_inputs(graph));
  for (ValueId v = 0; v < graph.value_count(); ++v) {
    const bool in_memory = v < graph.source_count() || graph.is_observed(v);
    EXPECT_EQ(run.trace.values[static_cast<size_t>(v)] != nullptr, in_memory) << graph.name(v);
  }
}

TEST(CpuFused, ProgramOutlivesItsGraph) {
  std::unique_ptr<Program> program;
  std::vector<TensorPtr> inputs;
  {
    const Graph graph = find_pattern("gemm_bias_act")->examples[0].build(Dtype::f16, {});
    inputs = draw_inputs(graph);
    program = std::move(*cpu_fused_backend().compile(graph, {}));
  }
  const Tensor first = *program->run(inputs).values.back();
  EXPECT_EQ(first, *program->run(inputs).values.back());
}

}  // namespace
}  // namespace fusesmith::backends

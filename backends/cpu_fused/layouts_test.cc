// Memory layouts change no result: every pattern's graphs give the same bits as with dense sources, whether
// its kernel reads a source by strides or from a copy.
#include <gtest/gtest.h>

#include <set>

#include "backends/common/run_node.h"
#include "backends/common/run_plan.h"
#include "backends/cpu_fused/fused_test_support.h"

namespace fusesmith::backends {
namespace {

// The outputs of the program, and whether its own checks found nothing.
Trace checked_run(const Graph& graph, Plan* plan = nullptr) {
  const auto program = cpu_fused_backend().compile(graph, {});
  const auto inputs = draw_inputs(graph);
  Trace trace = (*program)->run(inputs);
  EXPECT_FALSE((*program)->recheck(inputs, trace)) << to_string(graph);
  EXPECT_FALSE(overwritten_source(graph, (*program)->plan(), inputs, trace)) << to_string(graph);
  if (plan) *plan = (*program)->plan();
  return trace;
}

void expect_same_outputs(const Graph& graph, const Trace& dense, const Trace& laid_out) {
  for (ValueId v : graph.outputs()) {
    const auto at = static_cast<size_t>(v);
    EXPECT_TRUE(*dense.values[at] == *laid_out.values[at]) << graph.name(v) << " of\n" << to_string(graph);
  }
}

class LayoutsOf : public testing::TestWithParam<std::string_view> {};

TEST_P(LayoutsOf, ChangeNoBit) {
  const Pattern& pattern = *find_pattern(GetParam());
  for (const auto& recipes : {pattern.examples, pattern.near_misses}) {
    for (const GraphRecipe& recipe : recipes) {
      for (const Dtype dtype : {Dtype::f32, Dtype::bf16}) {
        for (const TestLayout which : kTestLayouts) {
          const LaidOut graphs = lay_out(recipe.build(dtype, {}), which);
          SCOPED_TRACE(std::string(recipe.name) + ", layout " + std::to_string(static_cast<int>(which)));
          const Trace dense = checked_run(graphs.dense);
          expect_same_outputs(graphs.dense, dense, checked_run(graphs.laid_out));
        }
      }
    }
  }
}

std::vector<std::string_view> pattern_names() {
  std::vector<std::string_view> names;
  for (const Pattern& pattern : all_patterns()) names.push_back(pattern.name);
  return names;
}
INSTANTIATE_TEST_SUITE_P(All, LayoutsOf, testing::ValuesIn(pattern_names()),
                         [](const auto& param_info) { return std::string(param_info.param); });

// What each pattern's kernel reads by strides in one of its examples.
TEST(Layouts, KernelsReadByStrides) {
  std::set<std::string> strided;
  for (const Pattern& pattern : all_patterns()) {
    for (const GraphRecipe& recipe : pattern.examples) {
      Plan plan;
      checked_run(lay_out(recipe.build(Dtype::f16, {}), TestLayout::padded_rows).laid_out, &plan);
      for (const Region& region : plan.regions) {
        if (!region.strided.empty()) strided.insert(region.patterns.front());
      }
    }
  }
  for (const char* name :
       {"sdpa", "gemm_bias_act", "einsum_to_gemm", "einsum_to_pointwise", "layer_norm_welford", "add_norm",
        "gate", "merged_qkv", "pointwise_chain", "permute_folding", "cache_update_in_place"})
    EXPECT_TRUE(strided.contains(name)) << name;
}

// Slices that go around are as far apart as the others.
TEST(Layouts, StatesAreShiftedBySeveralSlices) {
  for (const int64_t shift : {-3, -2, 2, 5}) {
    for (const bool laid_out : {true, false}) {
      Builder b;
      State state{"s", {Dtype::bf16, {2, 7, 3}}, Normal{}, -1, {}};
      if (laid_out) state.layout = MemoryLayout{.pad = {1, 2, 5}};
      const ValueId s = b.state(std::move(state));
      const ValueId rolled = b.node(Roll{1, shift}, {s}, "rolled");
      b.output(rolled);
      b.next_state(0, rolled);
      const Graph graph = *b.build();
      Plan plan;
      const Trace trace = checked_run(graph, &plan);
      EXPECT_EQ(plan.regions[0].patterns, std::vector<std::string>{"cache_update_in_place"});
      EXPECT_EQ(plan.regions[0].strided.size(), laid_out ? 1U : 0U);
      std::vector<TensorPtr> values = draw_inputs(graph);
      values.resize(2);
      run_node(graph, 0, values);
      EXPECT_TRUE(*trace.values[1] == *values[1]) << shift;
    }
  }
}

TEST(Layouts, PlansNameWhatTheyCopy) {
  Builder b;
  const ValueId x = b.input({"x", {Dtype::f32, {2, 3, 4}}, Normal{}, {}, MemoryLayout{.order = {1, 0, 2}}});
  const ValueId w = b.input({"w", {Dtype::f32, {4}}, Normal{}, {}, MemoryLayout{.offset = 1}});
  b.output(b.node(LayerNorm{}, {x, w}, "y"));
  const Graph graph = *b.build();
  // The rows of x have no common distance, and weights have no stride.
  const auto program = cpu_fused_backend().compile(graph, {});
  EXPECT_EQ((*program)->plan().regions[0].copied, (std::vector<ValueId>{x, w}));
  EXPECT_TRUE((*program)->plan().regions[0].strided.empty());
  EXPECT_EQ(make_region(graph, {0}).copied, (std::vector<ValueId>{x, w}));
}

TEST(Layouts, PlacedTensorsKeepElementsPaddingAndAlignment) {
  const Tensor tensor = [] {
    Tensor made({Dtype::bf16, {2, 3}});
    for (int64_t i = 0; i < made.size(); ++i) made.set(i, static_cast<double>(i));
    return made;
  }();
  for (const int64_t align : {2, 4, 16, 128, 256}) {
    for (const std::byte poison : kPoison) {
      const PlacedTensor placed(tensor, {.order = {1, 0}, .pad = {2, 0}, .align = align}, poison);
      EXPECT_TRUE(placed.dense() == tensor);
      EXPECT_EQ(placed.strides(), (Shape{1, 4}));
      EXPECT_TRUE(placed.is_intact());
      const auto address = reinterpret_cast<uintptr_t>(placed.elements());
      EXPECT_EQ(address % static_cast<uintptr_t>(align), 0u) << align;
      if (align < 256) {
        EXPECT_NE(address % static_cast<uintptr_t>(2 * align), 0u) << align;
      }
      // Element (0, 2) would be the third of a dense row, and is padding here.
      EXPECT_EQ(placed.elements()[4], poison);
      auto* const memory = const_cast<std::byte*>(placed.elements());
      memory[4] = std::byte{0x55};
      EXPECT_FALSE(placed.is_intact());
    }
  }
}

// A program whose kernel reads padding, one whose kernel writes it, and one that is wrong every third time.
enum class Mistake : uint8_t { reads, writes, sometimes };
class BadProgram : public Program {
 public:
  BadProgram(const Graph& graph, Mistake mistake)
      : graph_(graph), plan_{{make_region(graph, {0})}, {}}, mistake_(mistake) {}
  const Plan& plan() const override { return plan_; }
  Trace run(std::span<const TensorPtr> inputs) override {
    return run_plan(graph_, plan_, inputs, layouts_, [&](const Region&, std::span<TensorPtr> values) {
      run_node(graph_, 0, values);
      std::byte* const after =
          const_cast<std::byte*>(layouts_.placed->find(0)->elements()) + 2 * sizeof(float);
      if (mistake_ == Mistake::writes) return void(*after = std::byte{1});
      if (mistake_ == Mistake::sometimes && ++runs_ % 3 != 0) return;
      Tensor out = *values[1];
      out.bytes[0] = mistake_ == Mistake::reads ? *after : ~out.bytes[0];
      values[1] = std::make_shared<const Tensor>(std::move(out));
    });
  }
  std::optional<Disagreement> recheck(std::span<const TensorPtr> inputs, const Trace& trace) override {
    return repeat_plan(*this, graph_, inputs, trace, layouts_);
  }

 private:
  Graph graph_;
  Plan plan_;
  LayoutRuns layouts_;
  Mistake mistake_;
  int runs_ = 0;
};

TEST(Layouts, ReadsAndWritesOfPaddingAreToldFromChance) {
  Builder b;
  const ValueId x = b.input({"x", {Dtype::f32, {3, 2}}, Normal{}, {}, MemoryLayout{.pad = {0, 1}}});
  b.output(b.node(Relu{}, {x}, "y"));
  const Graph graph = *b.build();
  const auto inputs = draw_inputs(graph);
  using Kind = Disagreement::Kind;
  const std::pair<Mistake, Kind> mistakes[] = {
      {Mistake::reads, Kind::poison}, {Mistake::writes, Kind::guard}, {Mistake::sometimes, Kind::repeat}};
  for (const auto& [mistake, kind] : mistakes) {
    BadProgram program(graph, mistake);
    const Trace trace = program.run(inputs);
    const auto found = program.recheck(inputs, trace);
    ASSERT_TRUE(found);
    EXPECT_EQ(found->kind, kind);
    EXPECT_EQ(found->value, mistake == Mistake::writes ? x : 1);
  }
}

}  // namespace
}  // namespace fusesmith::backends

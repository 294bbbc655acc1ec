#include "backends/cpu/cpu_backend.h"

#include <gtest/gtest.h>

#include "backends/common/cpu_arithmetic.h"
#include "backends/common/tf32.h"
#include "graph/expand.h"

namespace fusesmith::backends {
namespace {

std::vector<TensorPtr> inputs_of(const Graph& graph) {
  std::vector<TensorPtr> inputs;
  for (const Input& input : graph.inputs()) {
    inputs.push_back(std::make_shared<const Tensor>(materialize(input.fill, input.type, 3, input.name, 0)));
  }
  return inputs;
}

Trace run(const Graph& graph) {
  auto program = cpu_backend().compile(graph, {});
  EXPECT_TRUE(program.ok());
  return (*program)->run(inputs_of(graph));
}

Graph norm_and_linear(Dtype dtype) {
  Builder b;
  const ValueId x = b.input("x", {dtype, {4, 16, 32}}, Normal{});
  const ValueId w = b.input("w", {dtype, {24, 32}}, Normal{});
  const ValueId h = b.node(Linear{}, {b.node(LayerNorm{}, {x}, "norm"), w}, "h");
  b.output(b.node(Add{}, {h, b.node(Gelu{}, {h}, "act")}, "y"));
  return *b.build();
}

TEST(CpuBackend, HasOneRegionPerNodeThatDeclaresOnlyItsArithmetic) {
  const Graph graph = norm_and_linear(Dtype::bf16);
  const auto program = cpu_backend().compile(graph, {});
  ASSERT_TRUE(program.ok());
  const Plan& plan = (*program)->plan();
  ASSERT_EQ(plan.regions.size(), graph.nodes().size());
  for (size_t i = 0; i < plan.regions.size(); ++i) {
    const Region& region = plan.regions[i];
    EXPECT_EQ(region.nodes, std::vector<int>{static_cast<int>(i)});
    EXPECT_EQ(region.inputs.size(), graph.nodes()[i].inputs.size());
    EXPECT_EQ(region.outputs, std::vector<ValueId>{graph.nodes()[i].first_output});
    EXPECT_TRUE(region.patterns.empty());
    EXPECT_EQ(region.contract.arithmetic, cpu_arithmetic_of(graph.nodes()[i].op));
    EXPECT_TRUE(region.contract.deviations.empty());
    EXPECT_TRUE(region.contract.slacks.empty());
  }
}

TEST(CpuBackend, TraceHoldsEveryValueInItsType) {
  for (Dtype dtype : kFloatDtypes) {
    const Graph graph = norm_and_linear(dtype);
    const Trace trace = run(graph);
    ASSERT_EQ(trace.values.size(), static_cast<size_t>(graph.value_count()));
    for (ValueId v = 0; v < graph.value_count(); ++v) {
      ASSERT_NE(trace.values[static_cast<size_t>(v)], nullptr);
      EXPECT_EQ(trace.values[static_cast<size_t>(v)]->type, graph.type(v));
    }
  }
}

TEST(CpuBackend, RunsTwiceToTheSameBits) {
  const Graph graph = norm_and_linear(Dtype::f32);
  const Trace first = run(graph), second = run(graph);
  for (size_t i = 0; i < first.values.size(); ++i) EXPECT_EQ(*first.values[i], *second.values[i]);
}

// The program keeps what it needs: the graph may be gone.
TEST(CpuBackend, ProgramOutlivesItsGraph) {
  std::unique_ptr<Program> program;
  std::vector<TensorPtr> inputs;
  {
    const Graph graph = norm_and_linear(Dtype::f32);
    inputs = inputs_of(graph);
    program = std::move(*cpu_backend().compile(graph, {}));
  }
  EXPECT_EQ(*program->run(inputs).values.back(), *run(norm_and_linear(Dtype::f32)).values.back());
}

// Scenario 4's demand on the corrected definition: bit for bit.
TEST(CpuBackend, AttentionEqualsItsOwnExpansion) {
  for (Dtype dtype : kFloatDtypes) {
    for (const Sdpa& op :
         {Sdpa{}, Sdpa{Sdpa::ScaleOn::both, true}, Sdpa{Sdpa::ScaleOn::both, true, Sdpa::Mask::causal}}) {
      Builder b;
      const TensorType type{dtype, {2, 3, 17, 16}};
      const ValueId q = b.input("q", type, Normal{}), k = b.input("k", type, Normal{}),
                    v = b.input("v", type, Normal{});
      b.output(b.node(op, {q, k, v}, "y"));
      const Graph graph = *b.build();
      const Graph expanded = *expansion(op, Types{type, type, type});
      const auto program = cpu_backend().compile(expanded, {});
      ASSERT_TRUE(program.ok());
      const Trace trace = (*program)->run(inputs_of(graph));
      EXPECT_EQ(*run(graph).values.back(), *trace.values[static_cast<size_t>(expanded.outputs()[0])])
          << to_string(Op(op));
    }
  }
}

// Under tf32 an f32 product is that of its rounded operands; 16-bit ones stay as they are.
TEST(CpuBackend, Tf32RoundsOperandsOfF32Products) {
  for (Dtype dtype : kFloatDtypes) {
    Builder b;
    const ValueId x = b.input("x", {dtype, {9, 40}}, Normal{}), w = b.input("w", {dtype, {7, 40}}, Normal{});
    b.output(b.node(Linear{}, {x, w}, "y"));
    const Graph graph = *b.build();
    CompileOptions options;
    options.tf32 = true;
    const auto program = cpu_backend().compile(graph, options);
    ASSERT_TRUE(program.ok());
    EXPECT_TRUE((*program)->plan().regions[0].contract.arithmetic.tf32);
    const auto inputs = inputs_of(graph);
    std::vector<TensorPtr> rounded;
    for (const TensorPtr& input : inputs) {
      Tensor tensor = *input;
      if (dtype == Dtype::f32) to_tf32(tensor.as<float>());
      EXPECT_EQ(tensor == *input, dtype != Dtype::f32);
      rounded.push_back(std::make_shared<const Tensor>(std::move(tensor)));
    }
    const auto ieee = cpu_backend().compile(graph, {});
    EXPECT_EQ(*(*program)->run(inputs).values.back(), *(*ieee)->run(rounded).values.back());
  }
}

// Inputs that have a layout are copied from where they lie: the plan says so, and no bit changes.
TEST(CpuBackend, CopiesInputsThatHaveALayout) {
  const auto sum = [](std::optional<MemoryLayout> layout) {
    Builder b;
    const ValueId x = b.input({"x", {Dtype::bf16, {3, 5, 8}}, Normal{}, {}, layout});
    const ValueId y = b.input("y", {Dtype::bf16, {8}}, Normal{});
    b.output(b.node(Softmax{}, {b.node(Add{}, {x, y})}));
    return *b.build();
  };
  const Graph dense = sum({}), laid_out = sum(MemoryLayout{{2, 0, 1}, {1, 2, 3}, 5, {}, 2});
  const auto program = cpu_backend().compile(laid_out, {});
  EXPECT_EQ((*program)->plan().regions[0].copied, std::vector<ValueId>{0});
  EXPECT_TRUE((*program)->plan().regions[1].copied.empty());
  const auto inputs = inputs_of(laid_out);
  const Trace trace = (*program)->run(inputs);
  EXPECT_EQ(*trace.values.back(), *run(dense).values.back());
  EXPECT_FALSE((*program)->recheck(inputs, trace));
  EXPECT_EQ(*trace.values[0], *inputs[0]);
}

}  // namespace
}  // namespace fusesmith::backends

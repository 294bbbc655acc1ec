// What the three runs of a device program see of wrong memory accesses: programs whose launches are written
// here read or write beyond their operands.
#include <gtest/gtest.h>

#include "backends/common/lawful_test.h"
#include "backends/cuda/emit/program_builder.h"
#include "backends/cuda/runtime/check.h"
#include "backends/cuda/runtime/worker.h"

namespace fusesmith::backends {
namespace {

constexpr int64_t kElements = 64;
constexpr size_t kBytes = kElements * sizeof(float);

class CudaMemory : public testing::Test {
 protected:
  void SetUp() override {
    if (const auto why = why_no_device()) GTEST_SKIP() << *why;
  }
};

Plan one_region_for_each_node(const Graph& graph) {
  Plan plan;
  for (int node = 0; node < static_cast<int>(graph.nodes().size()); ++node)
    plan.regions.push_back(make_region(graph, {node}));
  return plan;
}

void copy(void* to, const void* from, size_t bytes, const LaunchContext& at) {
  check_cuda(cudaMemcpyAsync(to, from, bytes, cudaMemcpyDeviceToDevice, at.stream()), "cudaMemcpyAsync");
}

std::optional<Disagreement> disagreement(Program& program, const Graph& graph) {
  const std::vector<TensorPtr> inputs = testing_cases::inputs_of(graph, 1);
  const Trace trace = program.run(inputs);
  return program.recheck(inputs, trace);
}

// y[i] = x[i + 1]: the last element is read from the guard zone behind x.
TEST_F(CudaMemory, AValueReadBeyondAnInputDiffersBetweenRuns) {
  Builder b;
  const ValueId x = b.input("x", {Dtype::f32, {kElements}}, Normal{});
  const ValueId y = b.node(Roll{0, kElements - 1}, {x}, "y");
  b.output(y);
  const Graph graph = *b.build();
  const Plan plan = one_region_for_each_node(graph);
  for (const size_t skip : {size_t{0}, sizeof(float)}) {
    ProgramBuilder builder(graph, plan, false);
    builder.next_region();
    builder.emitter().launch([=](const LaunchContext& at) {
      copy(at.at(Buffer{y}), static_cast<const std::byte*>(at.at(Buffer{x})) + skip, kBytes, at);
    });
    const auto found = disagreement(*builder.build(), graph);
    EXPECT_EQ(found.has_value(), skip > 0);
    if (found) {
      EXPECT_EQ(found->kind, Disagreement::Kind::poison);
      EXPECT_EQ(found->region, 0u);
    }
  }
}

// The middle one of three regions updates a state in place, and in production, where the new state stands in
// the memory of the old one, writes beyond it: into a guard zone around inputs that no traced run touches.
TEST_F(CudaMemory, AnInputGuardOverwrittenInProductionAloneNamesTheRegion) {
  Builder b;
  const ValueId state = b.state("state", {Dtype::f32, {kElements}}, Normal{});
  const ValueId before = b.node(Relu{}, {state}, "before");
  const ValueId next = b.node(Scale{1}, {state}, "next");
  b.output(b.node(Relu{}, {before}, "after"));
  b.next_state(0, next);
  const Graph graph = *b.build();
  const Plan plan = one_region_for_each_node(graph);
  ProgramBuilder builder(graph, plan, false);
  for (const Region& region : plan.regions) {
    builder.next_region();
    const ValueId from = region.inputs.front(), to = region.outputs.front();
    if (to == next) builder.update_in_place(next, state);
    builder.emitter().launch([=](const LaunchContext& at) {
      const bool in_place = at.at(Buffer{from}) == at.at(Buffer{to});
      if (!in_place) return copy(at.at(Buffer{to}), at.at(Buffer{from}), kBytes, at);
      std::byte* const end = static_cast<std::byte*>(at.at(Buffer{to})) + kBytes;
      check_cuda(cudaMemsetAsync(end, 1, sizeof(float), at.stream()), "cudaMemsetAsync");
    });
  }
  const auto found = disagreement(*builder.build(), graph);
  ASSERT_TRUE(found);
  EXPECT_EQ(found->kind, Disagreement::Kind::guard);
  EXPECT_EQ(found->region, 1u);
}

}  // namespace
}  // namespace fusesmith::backends

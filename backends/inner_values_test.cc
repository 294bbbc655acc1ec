// What kernels show of themselves is what they compute with, on both CPU backends.
#include "backends/inner_values_test.h"

#include "backends/cpu/cpu_backend.h"
#include "backends/cpu_fused/cpu_fused_backend.h"

namespace fusesmith::backends {
namespace {

// softmax(q k^T) v.
Case attention() {
  Builder b;
  const TensorType type{Dtype::f32, {2, 40, 8}};
  const ValueId q = b.input("q", type, Normal{}), k = b.input("k", type, Normal{}),
                v = b.input("v", type, Normal{});
  const ValueId p = b.node(Softmax{-1}, {b.node(Matmul{false, true}, {q, k}, "scores")}, "p");
  b.output(b.node(Matmul{}, {p, v}, "out"));
  Case made;
  made.graph = *b.build();
  return made;
}

TEST(InnerValues, OfOpsAreWhatTheKernelsGoOnFrom) {
  std::vector<Looked> ops = norms();
  ops.push_back({"softmax", Softmax{1}, {"sum"}});
  for (const Looked& looked : ops) {
    for (const Backend* backend : {&cpu_backend(), &cpu_fused_backend()}) {
      SCOPED_TRACE(std::string(looked.name) + " on " + std::string(backend->name()));
      expect_used(*backend, case_of(looked.op), looked.inner);
    }
  }
}

TEST(InnerValues, OfFusedAttentionIsTheSumOfARow) { expect_used(cpu_fused_backend(), attention(), {"sum"}); }

// Both count rows in one order, and leave out the same maximum.
TEST(InnerValues, StandAtTheSameRowOnBothSides) {
  const Case looked = attention();
  const Look fused = look(cpu_fused_backend(), looked, {});
  const auto program = cpu_backend().compile(looked.graph, {});
  std::vector<TensorPtr> inputs;
  for (Tensor& tensor : make_inputs(looked)) inputs.push_back(std::make_shared<Tensor>(std::move(tensor)));
  Trace trace = (*program)->run(inputs);
  Probe probe;
  dynamic_cast<const Inspectable&>(**program).run_region(1, trace.values, probe);
  const Tensor &a = probe.seen.at("sum"), &b = fused.seen.at("sum");
  ASSERT_EQ(a.type, b.type);
  for (int64_t i = 0; i < a.size(); ++i) EXPECT_NEAR(a.value(i), b.value(i), 1e-5 * a.value(i)) << i;
}

}  // namespace
}  // namespace fusesmith::backends

// What kernels show of themselves is what they compute with, on both CPU backends.
#include "backends/inner_values.h"

#include <gtest/gtest.h>

#include "backends/cpu/cpu_backend.h"
#include "backends/cpu_fused/cpu_fused_backend.h"

namespace fusesmith {
namespace {

struct Looked {
  const char* name;
  Op op;
  std::vector<const char*> inner;
};

Case case_of(const Op& op) {
  Builder b;
  const ValueId x = b.input("x", {Dtype::f32, {3, 4, 8}}, Normal{0.5, 2});
  b.output(b.node(op, {x}, "y"));
  Case made;
  made.graph = *b.build();
  return made;
}

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

// The last region with these inner values given, on what the whole run left; and what its kernel showed.
struct Look {
  Tensor out;
  InnerValues seen;
};
Look look(const Backend& backend, const Case& looked, const InnerValues& given) {
  const auto program = backend.compile(looked.graph, {});
  std::vector<TensorPtr> inputs;
  for (Tensor& tensor : make_inputs(looked)) inputs.push_back(std::make_shared<Tensor>(std::move(tensor)));
  Trace trace = (*program)->run(inputs);
  const auto out = static_cast<size_t>(looked.graph.outputs()[0]);
  const TensorPtr whole = trace.values[out];
  Probe probe{given, {}};
  const auto& inside = dynamic_cast<const Inspectable&>(**program);
  inside.run_region((*program)->plan().regions.size() - 1, trace.values, probe);
  if (given.empty()) {
    EXPECT_EQ(*trace.values[out], *whole) << "the region alone";
  }
  return {*trace.values[out], probe.seen};
}

void expect_used(const Backend& backend, const Case& looked, const std::vector<const char*>& names) {
  const Look own = look(backend, looked, {});
  ASSERT_EQ(own.seen.size(), names.size());
  EXPECT_EQ(look(backend, looked, own.seen).out, own.out) << "its own values given";
  for (const char* name : names) {
    ASSERT_TRUE(own.seen.contains(name)) << name;
    InnerValues other{{name, own.seen.at(name)}};
    for (float& x : other.at(name).as<float>()) x = 3 * x + 1;
    const Look changed = look(backend, looked, other);
    EXPECT_NE(changed.out, own.out) << name;
    EXPECT_EQ(changed.seen, own.seen) << name << ": seen is what the kernel computes, not what it is given";
    other.at(name) = Tensor({Dtype::f32, {1}});
    EXPECT_EQ(look(backend, looked, other).out, own.out) << name << " of another size";
  }
}

TEST(InnerValues, OfOpsAreWhatTheKernelsGoOnFrom) {
  const Looked ops[] = {{"layer_norm", LayerNorm{}, {"mean", "rstd"}},
                        {"group_norm", GroupNorm{2}, {"mean", "rstd"}},
                        {"rms_norm", RmsNorm{}, {"rstd"}},
                        {"softmax", Softmax{1}, {"sum"}}};
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
}  // namespace fusesmith

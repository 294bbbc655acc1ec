// What kernels show of themselves is what they compute with, on both CPU backends.
#include "backends/inner_values_test.h"

#include "backends/cpu/cpu_backend.h"
#include "backends/cpu_fused/cpu_fused_backend.h"
#include "backends/rewrite/patterns.h"

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

// All inner values of the case's last region, on cpu_fused, and of the nodes of that region, on cpu: those of
// one name are near each other. Returns how many there were; `names` must be among them.
int expect_near_on_both(const Case& looked, const std::vector<std::string>& names) {
  const auto cpu = cpu_backend().compile(looked.graph, {}),
             fused = cpu_fused_backend().compile(looked.graph, {});
  std::vector<TensorPtr> inputs;
  for (Tensor& tensor : make_inputs(looked)) inputs.push_back(std::make_shared<Tensor>(std::move(tensor)));
  const Trace trace = (*cpu)->run(inputs);
  int shown = 0;
  const auto& regions = (*fused)->plan().regions;
  for (size_t r = 0; r < regions.size(); ++r) {
    Probe own;
    std::vector<TensorPtr> values = trace.values;
    dynamic_cast<const Inspectable&>(**fused).run_region(r, values, own);
    std::map<std::string, int> times;
    InnerValues theirs;
    for (int node : regions[r].nodes) {
      Probe probe;
      values = trace.values;
      dynamic_cast<const Inspectable&>(**cpu).run_region(static_cast<size_t>(node), values, probe);
      for (const auto& [name, value] : probe.seen) {
        ++times[name];
        theirs.insert_or_assign(name, value);
      }
    }
    for (const auto& [name, value] : own.seen) {
      if (times[name] != 1 || theirs.at(name).type != value.type) continue;
      ++shown;
      const Tensor& other = theirs.at(name);
      for (int64_t i = 0; i < value.size(); ++i) {
        if (value.value(i) == other.value(i)) continue;  // infinities too
        EXPECT_NEAR(value.value(i), other.value(i), 1e-4 * (1 + std::abs(other.value(i))))
            << name << " " << i;
      }
    }
    for (const std::string& name : names) EXPECT_TRUE(own.seen.contains(name)) << name;
  }
  return shown;
}

TEST(InnerValues, OfOpsAreWhatTheKernelsGoOnFrom) {
  std::vector<Looked> ops = norms();
  ops.push_back({"softmax", Softmax{1}, {"scores", "maximum", "sum"}});
  for (const Looked& looked : ops) {
    for (const Backend* backend : {&cpu_backend(), &cpu_fused_backend()}) {
      SCOPED_TRACE(std::string(looked.name) + " on " + std::string(backend->name()));
      expect_used(*backend, case_of(looked.op), looked.inner);
    }
  }
}

TEST(InnerValues, OfFusedAttentionAreThoseOfItsSoftmax) {
  expect_used(cpu_fused_backend(), attention(), {"scores", "maximum", "sum"}, "maximum");
}

// gelu(x w + b), and what cpu computes first of it.
TEST(InnerValues, OfFusedProductsAreTheProductBeforeItsEpilogue) {
  Builder b;
  const ValueId x = b.input("x", {Dtype::f32, {9, 20}}, Normal{}),
                w = b.input("w", {Dtype::f32, {6, 20}}, Normal{}),
                bias = b.input("b", {Dtype::f32, {6}}, Normal{});
  b.output(b.node(Gelu{}, {b.node(Linear{}, {x, w, bias}, "linear")}, "y"));
  Case looked;
  looked.graph = *b.build();
  expect_used(cpu_fused_backend(), looked, {"product"});
  expect_near_on_both(looked, {"product"});
}

// Both count elements in one order, whatever the layout of heads, masks and scales.
TEST(InnerValues, StandAtTheSamePlaceOnBothSides) {
  expect_near_on_both(attention(), {"scores", "maximum", "sum"});
  int shown = 0;
  for (const Pattern& pattern : all_patterns()) {
    for (const GraphRecipe& recipe : pattern.examples) {
      SCOPED_TRACE(std::string(pattern.name) + ", " + std::string(recipe.name));
      Case looked;
      looked.graph = recipe.build(Dtype::f32, {2, 2, 5, 7, 9, 6});
      if (!looked.graph.states().empty()) continue;
      shown += expect_near_on_both(looked, {});
    }
  }
  EXPECT_GT(shown, 20);
}

}  // namespace
}  // namespace fusesmith::backends

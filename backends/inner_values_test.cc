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

// Inputs, then states.
std::vector<TensorPtr> sources_of(const Case& looked) {
  std::vector<TensorPtr> sources;
  for (Tensor& tensor : make_inputs(looked)) sources.push_back(std::make_shared<Tensor>(std::move(tensor)));
  for (const State& s : looked.graph.states())
    sources.push_back(std::make_shared<Tensor>(materialize(s.fill, s.type, looked.seed, s.name, 0)));
  return sources;
}

void run_region(const Program& program, size_t region, std::vector<TensorPtr>& values, Probe& probe) {
  dynamic_cast<const Inspectable&>(program).run_region(region, values, probe);
}

// The case on cpu_fused, and its nodes on cpu, on the same values.
struct BothSides {
  explicit BothSides(const Case& looked)
      : cpu(std::move(*cpu_backend().compile(looked.graph, {}))),
        fused(std::move(*cpu_fused_backend().compile(looked.graph, {}))),
        trace(cpu->run(sources_of(looked))) {}

  const std::vector<Region>& regions() const { return fused->plan().regions; }

  // Of one region of cpu_fused, and of its nodes.
  std::vector<TensorPtr> run_fused(size_t region, Probe& probe) const {
    std::vector<TensorPtr> values = trace.values;
    run_region(*fused, region, values, probe);
    return values;
  }
  std::vector<TensorPtr> run_nodes(size_t region, Probe& probe) const {
    std::vector<TensorPtr> values = trace.values;
    for (int node : regions()[region].nodes) run_region(*cpu, static_cast<size_t>(node), values, probe);
    return values;
  }

  std::unique_ptr<Program> cpu, fused;
  Trace trace;
};

void expect_near(const std::string& name, const Tensor& own, const Tensor& other) {
  for (int64_t i = 0; i < own.size(); ++i) {
    if (own.value(i) == other.value(i)) continue;  // infinities too
    if (!is_computed(own.as<float>()[static_cast<size_t>(i)])) continue;
    EXPECT_NEAR(own.value(i), other.value(i), 1e-4 * (1 + std::abs(other.value(i)))) << name << " " << i;
  }
}

// All inner values of the case's regions on cpu_fused, and those of their nodes on cpu: those of one name are
// near each other. Returns how many there were; `names` must be among them.
int expect_near_on_both(const Case& looked, const std::vector<std::string>& names, bool everything = false) {
  const BothSides both(looked);
  int shown = 0;
  for (size_t r = 0; r < both.regions().size(); ++r) {
    Probe own{.everything = everything}, theirs{.everything = everything};
    both.run_fused(r, own);
    both.run_nodes(r, theirs);
    for (const auto& [name, value] : own.seen) {
      const auto other = theirs.seen.find(name);
      EXPECT_TRUE(!everything || other != theirs.seen.end()) << name;
      if (other == theirs.seen.end() || other->second.type != value.type) continue;
      ++shown;
      expect_near(name, value, other->second);
    }
    for (const std::string& name : names) EXPECT_TRUE(own.seen.contains(name)) << name;
  }
  return shown;
}

std::vector<Tensor> outputs_of(const Region& region, const std::vector<TensorPtr>& values) {
  std::vector<Tensor> outputs;
  for (ValueId v : region.outputs) outputs.push_back(*values[static_cast<size_t>(v)]);
  return outputs;
}

// Chosen by a condition, or equal to another operand: another value need not change the output.
bool may_be_unused(const std::string& name) {
  return name.find(" of where") != std::string::npos || name.find(" of masked_fill") != std::string::npos ||
         name.find(" of maximum") != std::string::npos || name == "maximum";
}

// Both sides go on from what they are given, for each value that both show. Returns how many there were.
int expect_used_on_both(const Case& looked) {
  const BothSides both(looked);
  int used = 0;
  for (size_t r = 0; r < both.regions().size(); ++r) {
    const auto run = [&](bool fused, Probe& probe) {
      return outputs_of(both.regions()[r], fused ? both.run_fused(r, probe) : both.run_nodes(r, probe));
    };
    for (const bool fused : {true, false}) {
      Probe own{.everything = true}, other{.everything = true};
      const std::vector<Tensor> outputs = run(fused, own);
      run(!fused, other);
      for (const auto& [name, value] : own.seen) {
        if (!other.seen.contains(name)) continue;
        SCOPED_TRACE(name + (fused ? " on cpu_fused" : " on cpu"));
        Probe same{.given = {{name, value}}, .everything = true};
        if (name != "maximum") {
          EXPECT_EQ(run(fused, same), outputs) << "its own value given";
        }
        Probe changed{.given = {{name, value}}, .everything = true};
        for (float& x : changed.given.at(name).as<float>()) x = std::isfinite(x) ? 3 * x + 1 : x;
        const std::vector<Tensor> others = run(fused, changed);
        if (!may_be_unused(name)) {
          EXPECT_NE(others, outputs);
        }
        EXPECT_EQ(changed.seen.at(name), value) << "it shows what it computes, not what it is given";
        ++used;
      }
    }
  }
  return used;
}

std::vector<Case> pattern_examples() {
  std::vector<Case> cases;
  for (const Pattern& pattern : all_patterns()) {
    for (const GraphRecipe& recipe : pattern.examples) {
      cases.emplace_back();
      cases.back().graph = recipe.build(Dtype::f32, {2, 2, 5, 7, 9, 6});
    }
  }
  return cases;
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
  for (const Case& looked : pattern_examples()) {
    if (looked.graph.states().empty()) shown += expect_near_on_both(looked, {});
  }
  EXPECT_GT(shown, 20);
}

// Operands and results too: of every pattern, in every layout that its examples have.
TEST(InnerValues, OfEveryStepHaveOneNameAndOnePlaceOnBothSides) {
  int shown = 0, used = 0;
  for (const Case& looked : pattern_examples()) {
    SCOPED_TRACE(to_json(looked));
    shown += expect_near_on_both(looked, {}, true);
    used += expect_used_on_both(looked);
  }
  EXPECT_GT(shown, 300);
  EXPECT_GT(used, 2 * 300);
}

}  // namespace
}  // namespace fusesmith::backends

// Results of code of others that are within bounds which are too loose to say anything: they are not called
// right. The first three were once.
#include <gtest/gtest.h>

#include <cmath>

#include "fuzz/run/opaque_test.h"
#include "fuzz/run/run_case.h"

namespace fusesmith::fuzz {
namespace {

Case case_of(Builder& b, ValueId output) {
  b.output(output);
  Case test_case;
  test_case.seed = 5;
  test_case.graph = *b.build();
  return test_case;
}

// Every element of `value` becomes f of it.
Change changes(const std::string& value, std::function<double(double)> f) {
  return [=](const Graph& graph, Trace& trace) {
    const auto v = graph.find(value);
    if (!v) return;
    TensorPtr& stored = trace.values[static_cast<size_t>(*v)];
    Tensor changed = *stored;
    for (int64_t i = 0; i < changed.size(); ++i) changed.set(i, f(changed.value(i)));
    stored = std::make_shared<const Tensor>(std::move(changed));
  };
}

// The candidate's, beside `cpu` as a worker of its own, so that its region is not known to be right.
Verdict judged(const Case& test_case, Change change, const Contract& contract, int64_t expose) {
  RunOptions options;
  options.expose = expose;
  return run_case(test_case, Opaque({}, contract), Opaque(std::move(change), contract), options);
}

Case long_norm() {
  Builder b;
  const ValueId x = b.input("x", {Dtype::f32, {2, 100'000}}, Normal{0, 1});
  return case_of(b, b.node(LayerNorm{}, {x}, "y"));
}

TEST(Resolution, ALongNormThatIsOnePercentWrongIsNotRight) {
  const auto wrong = [](double y) { return 1.01 * y; };
  Contract of_function;  // what a Python function is granted
  of_function.arithmetic.div = of_function.arithmetic.sqrt = of_function.arithmetic.rsqrt = 4;
  of_function.arithmetic.variance = Arithmetic::Variance::two_pass_or_welford;
  of_function.arithmetic.means_of_quotients = true;
  const Verdict of_any_order = judged(long_norm(), changes("y", wrong), of_function, 0);
  EXPECT_EQ(of_any_order.verdict, VerdictClass::inconclusive);
  EXPECT_GT(of_any_order.candidate.regions[0].resolution.median, kCoarsest);
  EXPECT_GT(of_any_order.candidate.regions[0].resolution.least, 0.01);
  Contract of_lanes = of_function;
  of_lanes.arithmetic.row_sums = {.lanes = 1024, .merges = 10};
  EXPECT_EQ(judged(long_norm(), changes("y", wrong), of_lanes, 0).verdict, VerdictClass::defect);
}

// The error of erf that PyTorch shows in a strided gelu covers results that vanish.
TEST(Resolution, AGeluThatVanishesTooEarlyIsNotRight) {
  Builder b;
  const ValueId x = b.input("x", {Dtype::f32, {1000}}, Normal{0, 2.5});
  const Case test_case = case_of(b, b.node(Gelu{}, {x}, "y"));
  Contract contract;
  contract.arithmetic.erf_absolute = 10;
  const auto vanishes = [](double y) { return y < 0 && y > -1e-7 ? 0 : y; };
  const Verdict wrong = judged(test_case, changes("y", vanishes), contract, 0);
  EXPECT_EQ(wrong.verdict, VerdictClass::inconclusive);
  EXPECT_GT(wrong.candidate.regions[0].uncertain, 0);
  EXPECT_LT(wrong.candidate.regions[0].resolution.median, 0x1p-16);
  EXPECT_GT(wrong.candidate.regions[0].resolution.worst, 1);
}

// Linear layers and norms with residuals, in bf16.
Case block() {
  Builder b;
  const TensorType row{Dtype::bf16, {4, 32}}, square{Dtype::bf16, {32, 32}};
  ValueId x = b.input("x", row, Normal{0, 1});
  std::vector<ValueId> weights;
  for (const char* name : {"w0", "w1"}) weights.push_back(b.input(name, square, Normal{0, 0.2}));
  for (const ValueId w : weights) {
    const ValueId norm = b.node(RmsNorm{}, {x});
    x = b.node(Add{}, {x, b.node(Scale{0.5}, {b.node(Linear{}, {norm, w})})});
  }
  return case_of(b, b.node(RmsNorm{}, {x}, "y"));
}

TEST(Resolution, ABlockWithAWrongScaleIsNotRight) {
  const auto wrong = [](double y) { return y * 1.03; };
  const Contract any{.roundings = Roundings::any};
  const Verdict whole = judged(block(), changes("y", wrong), any, 0);
  EXPECT_EQ(whole.verdict, VerdictClass::inconclusive);
  EXPECT_GT(whole.candidate.regions[0].resolution.median, kCoarsest);
  EXPECT_EQ(judged(block(), changes("y", wrong), any, kExposeWhereNeeded).verdict, VerdictClass::defect);
  const Verdict right = judged(block(), {}, any, kExposeWhereNeeded);
  EXPECT_LE(right.verdict, VerdictClass::precision_policy);
  ASSERT_TRUE(right.candidate.coarsest());
  EXPECT_LE(right.candidate.coarsest()->resolution.median, kCoarsest);
}

// Backends of ours keep the rule for loose bounds.
TEST(Resolution, BackendsOfOursAreNotHeldToIt) {
  const Verdict verdict = run_case(long_norm(), *find_backend("cpu"), *find_backend("cpu_fused"));
  EXPECT_LE(verdict.verdict, VerdictClass::precision_policy);
  EXPECT_GT(verdict.candidate.regions[0].resolution.elements, 0);
}

}  // namespace
}  // namespace fusesmith::fuzz

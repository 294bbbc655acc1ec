// The law of the baseline: whatever op, dtype and data, the judge finds every node of `cpu` within its bounds
// under the strict reading, with its default contract.
#include <gtest/gtest.h>

#include "backends/common/op_cases.h"
#include "backends/cpu/cpu_backend.h"
#include "oracle/judge.h"

namespace fusesmith {
namespace {

using testing_cases::OpCase, testing_cases::op_cases;

Result<Graph> one_node(const OpCase& one, Dtype dtype, const Fill& fill) {
  Builder b;
  std::vector<ValueId> inputs;
  for (TensorType type : one.inputs) {
    Fill own = fill;
    if (type.dtype == Dtype::boolean)
      own = Bernoulli{0.6};
    else if (type.dtype == Dtype::i32)
      own = Tokens{8};
    else
      type.dtype = dtype;
    inputs.push_back(b.input("input" + std::to_string(inputs.size()), type, own));
  }
  b.output(b.node(one.op, inputs, "y"));
  return b.build();
}

BackendVerdict judge_cpu(const Graph& graph, uint64_t seed) {
  Case test_case;
  test_case.seed = seed;
  test_case.graph = graph;
  std::vector<TensorPtr> inputs;
  for (Tensor& tensor : make_inputs(test_case))
    inputs.push_back(std::make_shared<const Tensor>(std::move(tensor)));
  const auto program = std::move(*cpu_backend().compile(graph, {}));
  const Trace trace = program->run(inputs);
  Execution execution;
  execution.backend = "cpu";
  execution.plan = &program->plan();
  execution.trace = &trace;
  return judge_backend(graph, execution);
}

// Calls f(verdict) for every op case, dtype and two seeds.
template <class F>
void for_each_verdict(const Fill& fill, F f) {
  for (const OpCase& one : op_cases()) {
    for (Dtype dtype : kFloatDtypes) {
      for (uint64_t seed = 1; seed <= 2; ++seed) {
        SCOPED_TRACE(to_string(one.op) + " in " + std::string(name(dtype)) + ", " + std::string(name(fill)));
        const auto graph = one_node(one, dtype, fill);
        ASSERT_TRUE(graph.ok()) << graph.problem();
        f(judge_cpu(*graph, seed));
      }
    }
  }
}

TEST(CpuLawful, OnOrdinaryData) {
  for (const Fill& fill : {Fill{Normal{}}, Fill{Normal{100, 1}}, Fill{Normal{0, 20}}, Fill{Lattice{}},
                           Fill{Constant{3}}, Fill{OneHot{}}}) {
    for_each_verdict(fill, [](const BackendVerdict& verdict) {
      const RegionVerdict& region = verdict.regions.at(0);
      EXPECT_EQ(verdict.verdict, VerdictClass::reassociation)
          << name(verdict.verdict) << ", element " << region.worst.element;
      EXPECT_TRUE(region.deviations.empty());
      EXPECT_EQ(region.outside, 0);
    });
  }
}

// Zeros of both signs, subnormals, huge values, infinities and NaN. Bounds may be too loose to say, never
// broken.
TEST(CpuLawful, OnSpecialData) {
  for (const Fill& fill :
       {Fill{Special{0.3, false}}, Fill{Special{0.05, true}}, Fill{Uniform{-1e-38, 1e-38}}}) {
    for_each_verdict(fill, [](const BackendVerdict& verdict) {
      const bool lawful =
          verdict.verdict == VerdictClass::reassociation || verdict.verdict == VerdictClass::inconclusive;
      EXPECT_TRUE(lawful) << name(verdict.verdict) << ", element " << verdict.regions.at(0).worst.element;
      EXPECT_EQ(verdict.regions.at(0).outside, 0);
    });
  }
}

}  // namespace
}  // namespace fusesmith

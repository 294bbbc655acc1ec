// Subsets: regions that promise batch invariance keep their bits among fewer rows, and those that break the
// promise are found.
#include "fuzz/run/subset.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "backends/rewrite/matching/example_graph.h"
#include "backends/worker_error.h"
#include "fuzz/report/verdict_text.h"
#include "fuzz/run/backends.h"
#include "fuzz/run/metamorphic_test.h"

namespace fusesmith::fuzz {
namespace {

using testing::HasSubstr;

class Subsets : public OnBackend {};

TEST_P(Subsets, KeepTheirBitsWhereItIsPromised) {
  Choices choices(12, 0, 0);
  int64_t compared = 0;
  for (const auto& [label, graph] : graphs_of_all()) {
    if (!graph.states().empty()) continue;
    SCOPED_TRACE(label);
    const auto program = std::move(*backend_->compile(graph, {}));
    const Trace before = program->run(inputs_of(graph, 5));
    for (const size_t region : batch_invariant_regions(program->plan())) {
      const auto subset = draw_subset(graph, program->plan().regions[region], before, choices);
      if (!subset) continue;
      const auto part = std::move(*backend_->compile(subset->graph, {}));
      const MetamorphicCheck check = check_subset(*part, region, before, *subset);
      EXPECT_FALSE(check.broken) << graph.name(check.broken->value) << " with " << check.broken->change;
      compared += check.compared;
    }
  }
  const std::string backend = GetParam();
  if (backend == "cuda")
    EXPECT_EQ(compared, 0) << "its libraries promise nothing";
  else
    EXPECT_GT(compared, backend == "cuda_fused" ? 0 : 5000);
}

INSTANTIATE_TEST_SUITE_P(All, Subsets, testing::Values("cpu", "cpu_fused", "cuda", "cuda_fused"),
                         [](const auto& param_info) { return std::string(param_info.param); });

Graph norm_graph() {
  ExampleGraph g(Dtype::f32);
  return g.outputs(g.node(LayerNorm{}, g.tensor("x", {12, 24})));
}

TEST(SubsetDraws, KeepSomeRowsOfEveryInput) {
  ExampleGraph g(Dtype::f32);
  const ValueId x = g.tensor("x", {6, 4}), y = g.tensor("y", {6, 1}), w = g.tensor("w", {4});
  const Graph graph = g.outputs(g.node(RmsNorm{}, g.node(Mul{}, x, y), w));
  const auto program = std::move(*find_backend("cpu")->compile(graph, {}));
  const Trace trace = program->run(inputs_of(graph, 1));
  Region whole = make_region(graph, {0, 1});
  Choices choices(2, 0, 0);
  for (int i = 0; i < 20; ++i) {
    const auto subset = draw_subset(graph, whole, trace, choices);
    ASSERT_TRUE(subset);
    const auto rows = std::ssize(subset->places);
    EXPECT_LT(rows, 6);
    EXPECT_TRUE(std::is_sorted(subset->places.begin(), subset->places.end()));
    for (const char* name : {"x", "y", "w"}) {
      const Shape& was = graph.type(*graph.find(name)).shape;
      const Shape& is = subset->graph.type(*subset->graph.find(name)).shape;
      EXPECT_EQ(is[0], *name == 'w' ? was[0] : rows) << "the norm mixes the columns";
    }
    EXPECT_THAT(subset->kept, HasSubstr(" of axis 0 of x"));
  }
}

TEST(SubsetDraws, AProgramThatRefusesAShapeIsNotCompared) {
  const Graph graph = norm_graph();
  const auto program = std::move(*find_backend("cpu")->compile(graph, {}));
  const Trace trace = program->run(inputs_of(graph, 1));
  Choices choices(2, 0, 0);
  const auto subset = draw_subset(graph, program->plan().regions[0], trace, choices);
  ASSERT_TRUE(subset);
  Changed same(subset->graph, [](Tensor&) {});
  EXPECT_GT(check_subset(same, 0, trace, *subset).compared, 0);
  Changed refusing(subset->graph, [](Tensor&) {
    throw WorkerError(WorkerError::Kind::failed, "python:f", "ValueError: one row");
  });
  EXPECT_EQ(check_subset(refusing, 0, trace, *subset).compared, 0);
  Changed dying(subset->graph,
                [](Tensor&) { throw WorkerError(WorkerError::Kind::died, "python:f", "it ended"); });
  EXPECT_THROW(check_subset(dying, 0, trace, *subset), WorkerError);
}

TEST(SubsetFaults, AWidthThatDependsOnTheNumberOfRowsIsFoundByTheContractAlone) {
  if (!kFaultsBuilt) GTEST_SKIP() << "a build without faults";
  Case test_case;
  test_case.graph = norm_graph();
  RunOptions options;
  options.faults = Faults({"row_sum_width_by_rows"});
  int found = 0;
  for (test_case.seed = 0; test_case.seed < 20; ++test_case.seed) {
    test_case.policy.metamorphic = {"scaling", "exchange", "isolation"};
    const auto judged = [&] {
      return run_case(test_case, *find_backend("cpu"), *find_backend("cpu_fused"), options);
    };
    EXPECT_FALSE(judged().finding) << "every bound holds";
    test_case.policy.metamorphic = {"subset"};
    const Verdict verdict = judged();
    if (!verdict.finding) continue;
    ++found;
    EXPECT_EQ(verdict.signature_text(), "defect-cpu_fused-layer_norm_welford-f32-depends_on_batch");
    EXPECT_THAT(sentence(verdict), HasSubstr("is not batch invariant, as it has to be: "));
    EXPECT_THAT(sentence(verdict), HasSubstr(" of axis 0 of x alone"));
  }
  EXPECT_GT(found, 3);
}

// The policy of a case requires of the candidate what its contract need not say.
TEST(SubsetFaults, APolicyRequiresWhatNoContractSays) {
  if (!kFaultsBuilt) GTEST_SKIP() << "a build without faults";
  Case test_case;
  test_case.graph = norm_graph();
  RunOptions options;
  options.faults = Faults({"row_sum_width_by_rows"});
  const auto findings = [&](std::string_view check, const Backend& baseline, const Backend& candidate) {
    int found = 0;
    test_case.policy.metamorphic = {std::string(check)};
    for (test_case.seed = 0; test_case.seed < 20; ++test_case.seed)
      found += run_case(test_case, baseline, candidate, options).finding;
    return found;
  };
  const Backend &plain = *find_backend("cpu"), &fused = *find_backend("cpu_fused");
  EXPECT_GT(findings(kBatchInvariance, plain, fused), findings("subset", plain, fused))
      << "four subsets in place of one";
  EXPECT_EQ(findings(kPositionInvariance, plain, fused), 0);
}

}  // namespace
}  // namespace fusesmith::fuzz

#include <gtest/gtest.h>

#include "minimizer/minimize.h"
#include "minimizer/reductions.h"
#include "minimizer/sample_cases.h"

namespace fusesmith::minimizer {
namespace {

// What is left of the layouts where a case fails if this holds.
Graph minimized(bool (*fails)(const Graph&)) {
  const Predicate predicate = [&](const Case& candidate) -> std::optional<Probe> {
    if (!fails(candidate.graph)) return std::nullopt;
    return Probe{"fails", {}, {}};
  };
  return minimize(laid_out(), predicate, {}).test_case.graph;
}

const Input* input(const Graph& graph, const std::string& fill_of) {
  for (const Input& x : graph.inputs()) {
    if (x.name == fill_of) return &x;
  }
  return nullptr;
}

TEST(SimplifyLayout, DropsWhatIsNotNeeded) {
  const Graph graph = minimized([](const Graph& g) { return !g.nodes().empty(); });
  for (ValueId v = 0; v < graph.source_count(); ++v) EXPECT_FALSE(graph.layout(v)) << graph.name(v);
  for (const Input& x : graph.inputs()) EXPECT_TRUE(x.repeat.empty());
}

TEST(SimplifyLayout, KeepsThePartThatFails) {
  const Graph padded = minimized([](const Graph& g) {
    const Input* y = input(g, "y");
    return y && y->layout && !y->layout->pad.empty() && y->layout->pad[1] > 0;
  });
  EXPECT_EQ(input(padded, "y")->layout, (MemoryLayout{.pad = {0, 1}}));
  const Graph expanded = minimized([](const Graph& g) {
    const Input* x = input(g, "x");
    return x && x->layout && !x->layout->expand.empty();
  });
  EXPECT_EQ(input(expanded, "x")->layout, (MemoryLayout{.expand = {0}}));
  EXPECT_EQ(input(expanded, "x")->repeat, Shape{0});
  const Graph offset = minimized([](const Graph& g) {
    const Input* x = input(g, "x");
    return x && x->layout && x->layout->offset > 0;
  });
  EXPECT_EQ(input(offset, "x")->layout, MemoryLayout{.offset = 1});
  EXPECT_TRUE(input(offset, "x")->repeat.empty());
}

TEST(SimplifyLayout, EveryProposalIsAValidSmallerCase) {
  const Case test_case = laid_out();
  const Probe probe{"fails", {}, {}};
  const auto proposals = kSimplifyLayout.propose({test_case, probe});
  EXPECT_GT(proposals.size(), 10u);
  for (const Edits& edits : proposals) {
    const auto smaller = apply_edits(test_case, edits);
    ASSERT_TRUE(smaller) << to_string(edits);
    EXPECT_LT(measure(*smaller), measure(test_case)) << to_string(edits);
  }
}

}  // namespace
}  // namespace fusesmith::minimizer

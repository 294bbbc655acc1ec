#include "minimizer/extract.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "minimizer/sample_cases.h"

namespace fusesmith::minimizer {
namespace {

using testing::ElementsAre;

std::vector<int> nodes_called(const Graph& graph, const std::vector<std::string>& names) {
  std::vector<int> nodes;
  for (const std::string& name : names) nodes.push_back(*graph.producer(*graph.find(name)));
  return nodes;
}

std::vector<std::string> names_of(const Graph& graph, const std::vector<ValueId>& values) {
  std::vector<std::string> names;
  for (ValueId v : values) names.push_back(graph.name(v));
  return names;
}

TEST(ExtractRegion, PinsWhatItReads) {
  const Case test_case = transformer_block();
  const auto bits = some_bits(test_case.graph);
  const auto nodes = nodes_called(test_case.graph, {"scores", "scaled", "p", "pv"});
  const auto region = extract_region(test_case, nodes, bits);
  ASSERT_TRUE(region.has_value());
  EXPECT_EQ(region->graph.nodes().size(), 4u);
  EXPECT_THAT(names_of(region->graph, region->graph.outputs()), ElementsAre("pv"));
  const auto inputs = make_inputs(*region);
  for (size_t i = 0; i < inputs.size(); ++i) {
    const Input& input = region->graph.inputs()[i];
    if (input.name == "root")
      EXPECT_TRUE(std::holds_alternative<Constant>(input.fill));  // was an input: keeps its recipe
    else
      EXPECT_EQ(inputs[i], *bits[static_cast<size_t>(*test_case.graph.find(input.name))]) << input.name;
  }
  EXPECT_EQ(inputs.size(), 4u);
}

TEST(ExtractRegion, InnerValueReadOutsideStaysObserved) {
  const Case test_case = transformer_block();  // `attended` is also read by the last residual
  const auto nodes = nodes_called(test_case.graph, {"attended", "norm_again"});
  const auto region = extract_region(test_case, nodes, some_bits(test_case.graph));
  ASSERT_TRUE(region.has_value());
  EXPECT_THAT(names_of(region->graph, region->graph.outputs()), ElementsAre("attended", "norm_again"));
  const Case head = embedded_head();  // `scores` is a graph output
  const auto inner = extract_region(head, nodes_called(head.graph, {"scores", "p"}), some_bits(head.graph));
  ASSERT_TRUE(inner.has_value());
  EXPECT_THAT(names_of(inner->graph, inner->graph.outputs()), ElementsAre("scores", "p"));
}

TEST(ExtractRegion, MasksAndPositionsStayNodes) {
  const Case mix = masked_mix();
  const auto filled = extract_region(mix, nodes_called(mix.graph, {"filled"}), some_bits(mix.graph));
  ASSERT_TRUE(filled.has_value());
  EXPECT_NE(first_node<CausalMask>(filled->graph), nullptr);
  EXPECT_THAT(names_of(filled->graph, filled->graph.outputs()), ElementsAre("filled"));
  const Case head = embedded_head();
  const auto where = extract_region(head, nodes_called(head.graph, {"where"}), some_bits(head.graph));
  ASSERT_TRUE(where.has_value());
  EXPECT_EQ(where->graph.nodes().size(), 3u);  // arange, broadcast_to, gather
}

TEST(ExtractRegion, StatesAndInputsOfLaterStepsArePinned) {
  const Case test_case = stepping();
  const auto region =
      extract_region(test_case, nodes_called(test_case.graph, {"seen"}), some_bits(test_case.graph));
  ASSERT_TRUE(region.has_value());
  EXPECT_EQ(region->steps, 1);
  EXPECT_TRUE(region->graph.states().empty());
  for (const Input& input : region->graph.inputs())
    EXPECT_TRUE(std::holds_alternative<Literal>(input.fill)) << input.name;
}

// An update in place is one of a state alone.
TEST(ExtractRegion, AStateThatTheRegionCarriesOnStaysAState) {
  const Case test_case = stepping();
  const auto bits = some_bits(test_case.graph);
  const auto nodes = nodes_called(test_case.graph, {"seen", "news", "updated"});
  const auto region = extract_region(test_case, nodes, bits);
  ASSERT_TRUE(region.has_value());
  ASSERT_EQ(region->graph.states().size(), 1U);
  const State& cache = region->graph.states()[0];
  EXPECT_EQ(cache.name, "cache");
  EXPECT_EQ(region->graph.name(cache.next), "updated");
  EXPECT_EQ(materialize(cache.fill, cache.type, 0, "", 0),
            *bits[static_cast<size_t>(*test_case.graph.find("cache"))]);
  EXPECT_EQ(region->steps, 1);
}

TEST(ExtractRegion, MissingBitsAndForeignNodesGiveNothing) {
  const Case test_case = transformer_block();
  auto bits = some_bits(test_case.graph);
  const auto nodes = nodes_called(test_case.graph, {"p"});
  bits[static_cast<size_t>(*test_case.graph.find("scaled"))] = nullptr;
  EXPECT_FALSE(extract_region(test_case, nodes, bits).has_value());
  EXPECT_FALSE(extract_region(test_case, nodes, {}).has_value());
  EXPECT_FALSE(extract_region(test_case, std::vector<int>{}, bits).has_value());
  EXPECT_FALSE(extract_region(test_case, std::vector<int>{1000}, bits).has_value());
  EXPECT_FALSE(extract_region(test_case, std::vector<int>{-1}, bits).has_value());
}

TEST(WithProducers, AddsOneLayer) {
  const Graph graph = transformer_block().graph;
  const auto grown = with_producers(graph, nodes_called(graph, {"scores"}));
  EXPECT_EQ(grown, nodes_called(graph, {"q_heads", "k_heads", "scores"}));
}

}  // namespace
}  // namespace fusesmith::minimizer

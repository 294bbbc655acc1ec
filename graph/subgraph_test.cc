#include "graph/subgraph.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace fusesmith::graph {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;

constexpr int64_t kSize = 4;
const TensorType kSquare{Dtype::f32, {kSize, kSize}};

// A state that moves on, attention over it under a causal mask, a residual that reads inside, a gather by
// computed indices, and a node that nothing reads.
Case sample(int64_t steps) {
  Builder b;
  const ValueId x = b.input("x", kSquare, Normal{}), table = b.input("table", kSquare, Normal{});
  const ValueId cache = b.state("cache", kSquare, Constant{0});
  const ValueId seen = b.node(Add{}, {cache, x}, "seen");
  const ValueId updated = b.node(Mul{}, {seen, b.node(Sub{}, {x, cache}, "news")}, "updated");
  const ValueId scores = b.node(Matmul{false, true}, {x, updated}, "scores");
  const ValueId hidden = b.node(CausalMask{kSize, kSize}, {}, "hidden");
  const ValueId masked = b.node(MaskedFill{-1}, {scores, hidden}, "masked");
  const ValueId out = b.node(Matmul{}, {b.node(Softmax{-1}, {masked}, "p"), x}, "out");
  const ValueId places = b.node(Arange{kSize}, {}, "places");
  const ValueId rows = b.node(Gather{}, {table, places}, "rows");
  b.node(Relu{}, {rows}, "unread");
  b.output(b.node(Add{}, {scores, out}, "y"));
  b.next_state(0, updated);
  Case made;
  made.seed = 7;
  made.steps = steps;
  made.graph = *b.build();
  return made;
}

std::vector<std::shared_ptr<const Tensor>> bits_of(const Graph& graph) {
  std::vector<std::shared_ptr<const Tensor>> values;
  for (ValueId v = 0; v < graph.value_count(); ++v) {
    Tensor tensor(graph.type(v));
    for (int64_t i = 0; i < tensor.size() && is_float(tensor.type.dtype); ++i)
      tensor.set(i, static_cast<double>(v + i) / 8);
    values.push_back(std::make_shared<const Tensor>(std::move(tensor)));
  }
  return values;
}

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

std::vector<std::string> node_names(const Graph& graph, const std::vector<int>& nodes) {
  std::vector<std::string> names;
  for (int n : nodes) names.push_back(graph.nodes()[static_cast<size_t>(n)].name);
  return names;
}

TEST(Boundary, IsWhatIsReadFromOutsideAndWhatStaysInMemory) {
  const Graph graph = sample(1).graph;
  const auto of = [&](const std::vector<std::string>& names) {
    return boundary_of(graph, nodes_called(graph, names));
  };
  const Boundary attention = of({"scores", "masked", "p", "out"});
  EXPECT_THAT(names_of(graph, attention.inputs), ElementsAre("x", "updated", "hidden"));
  EXPECT_THAT(names_of(graph, attention.outputs), ElementsAre("scores", "out"));  // "y" reads both
  EXPECT_THAT(names_of(graph, of({"seen", "news", "updated"}).outputs), ElementsAre("updated"));
  EXPECT_THAT(names_of(graph, of({"rows", "unread"}).outputs), ElementsAre("unread"));
  EXPECT_THAT(of({}).inputs, IsEmpty());
}

TEST(Subgraph, FollowsReadersAndProducers) {
  const Graph graph = sample(1).graph;
  const std::vector<ValueId> from = {*graph.find("masked")};
  EXPECT_THAT(node_names(graph, nodes_after(graph, from)), ElementsAre("p", "out", "y"));
  EXPECT_THAT(node_names(graph, with_producers(graph, nodes_called(graph, {"masked"}))),
              ElementsAre("scores", "hidden", "masked"));
}

TEST(Subgraph, WithoutDataKeepsNamesAndIndices) {
  const Graph graph = sample(1).graph;
  auto bits = bits_of(graph);
  const auto part = subgraph_without_data(graph, nodes_called(graph, {"updated", "rows"}), bits);
  ASSERT_TRUE(part);
  EXPECT_THAT(node_names(graph, part->nodes), ElementsAre("updated", "rows"));
  for (ValueId v = 0; v < part->graph.value_count(); ++v)
    EXPECT_EQ(part->graph.name(v), graph.name(part->in_whole[static_cast<size_t>(v)]));
  EXPECT_TRUE(part->graph.states().empty());
  for (const Input& input : part->graph.inputs())
    EXPECT_EQ(std::holds_alternative<Literal>(input.fill), input.name == "places") << input.name;
  bits[static_cast<size_t>(*graph.find("places"))] = nullptr;
  EXPECT_FALSE(subgraph_without_data(graph, nodes_called(graph, {"rows"}), bits));
}

TEST(ExtractRegion, PinsWhatItReadsButInputs) {
  const Case whole = sample(1);
  const auto bits = bits_of(whole.graph);
  const auto region = extract_region(whole, nodes_called(whole.graph, {"p", "masked", "out"}), bits);
  ASSERT_TRUE(region);
  EXPECT_THAT(names_of(region->graph, region->graph.outputs()), ElementsAre("out"));
  ASSERT_EQ(region->graph.inputs().size(), 2U);  // the mask is made from attributes: it stays a node
  EXPECT_EQ(region->graph.nodes().size(), 4U);
  const auto inputs = make_inputs(*region);
  for (size_t i = 0; i < inputs.size(); ++i) {
    const Input& input = region->graph.inputs()[i];
    if (input.name == "x")
      EXPECT_TRUE(std::holds_alternative<Normal>(input.fill));
    else
      EXPECT_EQ(inputs[i], *bits[static_cast<size_t>(*whole.graph.find(input.name))]) << input.name;
  }
  EXPECT_EQ(region->seed, whole.seed);
}

TEST(ExtractRegion, InnerValueReadOutsideStaysObserved) {
  const Case whole = sample(1);
  const auto region =
      extract_region(whole, nodes_called(whole.graph, {"scores", "masked"}), bits_of(whole.graph));
  ASSERT_TRUE(region);
  EXPECT_THAT(names_of(region->graph, region->graph.outputs()), ElementsAre("scores", "masked"));
}

// An update in place is one of a state alone; inputs of later steps are not the first step's.
TEST(ExtractRegion, AStateThatTheRegionCarriesOnStaysAState) {
  const Case whole = sample(5);
  const auto bits = bits_of(whole.graph);
  const auto region = extract_region(whole, nodes_called(whole.graph, {"seen", "news", "updated"}), bits);
  ASSERT_TRUE(region);
  EXPECT_EQ(region->steps, 1);
  ASSERT_EQ(region->graph.states().size(), 1U);
  const State& cache = region->graph.states()[0];
  EXPECT_EQ(cache.name, "cache");
  EXPECT_EQ(region->graph.name(cache.next), "updated");
  EXPECT_EQ(materialize(cache.fill, cache.type, 0, "", 0),
            *bits[static_cast<size_t>(*whole.graph.find("cache"))]);
  const auto reader = extract_region(whole, nodes_called(whole.graph, {"seen"}), bits);
  ASSERT_TRUE(reader);
  EXPECT_TRUE(reader->graph.states().empty());
  for (const Input& input : reader->graph.inputs())
    EXPECT_TRUE(std::holds_alternative<Literal>(input.fill)) << input.name;
}

TEST(ExtractRegion, MissingBitsAndForeignNodesGiveNothing) {
  const Case whole = sample(1);
  auto bits = bits_of(whole.graph);
  const auto nodes = nodes_called(whole.graph, {"p"});
  bits[static_cast<size_t>(*whole.graph.find("masked"))] = nullptr;
  EXPECT_FALSE(extract_region(whole, nodes, bits));
  EXPECT_FALSE(extract_region(whole, nodes, {}));
  EXPECT_FALSE(extract_region(whole, std::vector<int>{}, bits));
  EXPECT_FALSE(extract_region(whole, std::vector<int>{1000}, bits));
  EXPECT_FALSE(extract_region(whole, std::vector<int>{-1}, bits));
}

}  // namespace
}  // namespace fusesmith::graph

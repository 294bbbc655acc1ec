#include "graph/graph.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace fusesmith::graph {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;

const TensorType kVector{Dtype::f32, {4}};

// x and a state s; y = relu(x), z = y + s, y read twice; outputs z, state s becomes z.
Builder small() {
  Builder b;
  const ValueId x = b.input("x", kVector, Normal{});
  const ValueId s = b.state("s", kVector, Constant{0});
  const ValueId y = b.node(Relu{}, {x}, "y");
  const ValueId yy = b.node(Mul{}, {y, y}, "yy");
  const ValueId z = b.node(Add{}, {yy, s}, "z");
  b.output(z);
  b.next_state(0, z);
  return b;
}

TEST(Graph, KnowsItsValues) {
  const auto built = small().build();
  ASSERT_TRUE(built) << built.problem();
  const Graph& graph = *built;
  EXPECT_EQ(graph.value_count(), 5);
  EXPECT_EQ(graph.source_count(), 2);
  EXPECT_TRUE(graph.is_input(0));
  EXPECT_FALSE(graph.is_input(1));
  EXPECT_TRUE(graph.is_state(1));
  EXPECT_FALSE(graph.is_state(2));
  EXPECT_FALSE(graph.producer(1));
  EXPECT_EQ(graph.producer(3), 1);
  EXPECT_EQ(graph.find("z"), 4);
  EXPECT_FALSE(graph.find("nothing"));
  EXPECT_TRUE(graph.is_observed(4));
  EXPECT_FALSE(graph.is_observed(2));
  EXPECT_THAT(graph.consumers()[2], ElementsAre(1, 1));
  EXPECT_THAT(graph.consumers()[1], ElementsAre(2));
  EXPECT_EQ(to_string(graph),
            "x: f32[4] = normal\n"
            "s: f32[4] state, next z\n"
            "y: f32[4] = relu of x\n"
            "yy: f32[4] = mul of y y\n"
            "z: f32[4] = add of yy s\n"
            "outputs: z\n");
}

TEST(Graph, IsAValue) {
  const Graph a = *small().build();
  EXPECT_TRUE(a == *small().build());
  Builder other = small();
  other.output(0);
  EXPECT_FALSE(a == *other.build());
}

TEST(Builder, NamesNodesByThemselves) {
  Builder b;
  const ValueId x = b.input("relu_1", kVector, Normal{});
  const ValueId y = b.node(Relu{}, {b.node(Relu{}, {x})});
  b.output(y);
  const auto graph = b.build();
  ASSERT_TRUE(graph) << graph.problem();
  EXPECT_NE(graph->name(1), graph->name(2));
  EXPECT_THAT(graph->name(2), HasSubstr("relu_"));
}

// The problem that a graph made by `make` (from x, f32[4]) has.
template <class F>
std::string graph_problem_of(F make) {
  Builder b;
  const ValueId x = b.input("x", kVector, Normal{});
  make(b, x);
  const auto graph = b.build();
  return graph ? "" : graph.problem();
}

TEST(Builder, RefusesBadSources) {
  const auto input = [](std::string name, const char* type, Fill fill = Constant{0}) {
    return graph_problem_of([&](Builder& b, ValueId x) {
      b.input(name, *parse_tensor_type(type), fill);
      b.output(x);
    });
  };
  EXPECT_EQ(input("a", "f32[4]"), "");
  EXPECT_EQ(input("x", "f32[4]"), "x: expected every name once; this one is taken");
  EXPECT_THAT(input("", "f32[4]"), HasSubstr("expected a name of 1 to 64 letters"));
  EXPECT_THAT(input("a b", "f32[4]"), HasSubstr("expected a name of 1 to 64 letters"));
  EXPECT_THAT(input(std::string(65, 'a'), "f32[4]"), HasSubstr("expected a name of 1 to 64 letters"));
  EXPECT_EQ(input("a", "f32[4,0]"), "a: expected dimensions of 1 or more, got f32[4,0]");
  EXPECT_EQ(input("a", "f32[1,1,1,1,1,1,1,1,1]"), "a: expected rank 8 or less, got f32[1,1,1,1,1,1,1,1,1]");
  EXPECT_EQ(input("a", "f32[134217728,2]"), "a: expected at most 2^27 elements, got f32[134217728,2]");
  EXPECT_EQ(input("a", "f32[4611686018427387904,4]"),
            "a: expected at most 2^27 elements, got f32[4611686018427387904,4]");
  EXPECT_THAT(input("a", "i32[4]", Normal{}), HasSubstr("a: expected a fill that makes i32[4], got normal"));
}

TEST(Builder, RefusesSourcesOutOfOrder) {
  EXPECT_THAT(graph_problem_of([](Builder& b, ValueId x) {
                b.output(b.node(Relu{}, {x}));
                b.input("late", kVector, Normal{});
              }),
              HasSubstr("late: expected inputs and states before all nodes"));
  EXPECT_THAT(graph_problem_of([](Builder& b, ValueId x) {
                b.output(x);
                b.state("s", kVector, Normal{});
                b.input("late", kVector, Normal{});
              }),
              HasSubstr("late: expected inputs before states"));
}

TEST(Builder, RefusesBadNodes) {
  EXPECT_EQ(graph_problem_of([](Builder& b, ValueId x) { b.output(b.node(Softmax{3}, {x}, "p")); }),
            "p: softmax expected an axis between -1 and 0, got 3");
  EXPECT_EQ(graph_problem_of([](Builder& b, ValueId x) { b.output(b.node(Add{}, {x}, "p")); }),
            "p: add expected 2 inputs, got 1");
  EXPECT_EQ(graph_problem_of([](Builder& b, ValueId x) { b.output(b.node(Relu{}, {x}, "x")); }),
            "x: expected every name once; this one is taken");
}

TEST(Builder, KeepsTheFirstProblem) {
  EXPECT_THAT(graph_problem_of([](Builder& b, ValueId x) {
                b.node(Softmax{3}, {x}, "first");
                b.node(Softmax{4}, {x}, "second");
              }),
              HasSubstr("first: "));
}

TEST(Builder, RefusesBadEnds) {
  EXPECT_EQ(graph_problem_of([](Builder&, ValueId) {}), "outputs: expected at least one output");
  EXPECT_EQ(graph_problem_of([](Builder& b, ValueId x) {
              b.output(x);
              b.output(x);
            }),
            "outputs: expected every output once, got \"x\" twice");
  EXPECT_EQ(graph_problem_of([](Builder& b, ValueId x) {
              b.state("s", kVector, Normal{});
              b.output(x);
            }),
            "s: expected a next value");
  EXPECT_EQ(graph_problem_of([](Builder& b, ValueId x) {
              b.state("s", {Dtype::f32, {5}}, Normal{});
              b.next_state(0, x);
              b.output(x);
            }),
            "s: expected a next value of type f32[5], got f32[4]");
}

TEST(Builder, LimitsTheWhole) {
  Builder b;
  const ValueId x = b.input("x", {Dtype::f32, {int64_t{1} << 26}}, Constant{0});
  for (int i = 0; i < 16; ++i) b.output(b.node(Relu{}, {x}));
  const auto graph = b.build();
  ASSERT_FALSE(graph);
  EXPECT_THAT(graph.problem(), HasSubstr("expected at most 2^30 elements in all values together"));
  EXPECT_THAT(graph_problem_of([](Builder& many, ValueId v) {
                for (int i = 0; i <= kMaxNodes; ++i) v = many.node(Relu{}, {v});
                many.output(v);
              }),
              HasSubstr("expected at most 4096 nodes"));
  EXPECT_THAT(graph_problem_of([](Builder& many, ValueId v) {
                for (int i = 0; i < kMaxNodes; ++i) many.input("i" + std::to_string(i), kVector, Constant{0});
                many.output(v);
              }),
              HasSubstr("expected at most 4096 inputs and states"));
}

// gather of a table of 6 rows by indices made with `fill`.
std::string gather_problem(const Fill& fill, bool from_state = false) {
  Builder b;
  const ValueId table = b.input("table", {Dtype::f32, {6, 2}}, Normal{});
  const TensorType type{Dtype::i32, {3}};
  const ValueId indices = from_state ? b.state("i", type, fill) : b.input("i", type, fill);
  if (from_state) b.next_state(0, indices);
  b.output(b.node(Gather{}, {table, b.node(Reshape{{3, 1}}, {indices})}, "g"));
  const auto graph = b.build();
  return graph ? "" : graph.problem();
}

TEST(Builder, GatherNeedsIndicesKnownToBeInRange) {
  EXPECT_EQ(gather_problem(Tokens{6}), "");
  EXPECT_EQ(gather_problem(Tokens{7}), "g: gather expected indices known to lie in [0, 6)");
  EXPECT_EQ(gather_problem(Constant{5}), "");
  EXPECT_NE(gather_problem(Constant{6}), "");
  EXPECT_EQ(gather_problem(Literal{"000000000000000500000001"}), "");
  EXPECT_NE(gather_problem(Literal{"000000000000000600000001"}), "");
  EXPECT_NE(gather_problem(Literal{"0000000000000001ffffffff"}), "");  // -1
  EXPECT_NE(gather_problem(Tokens{6}, true), "");                      // a state may change
  EXPECT_EQ(graph_problem_of([](Builder& b, ValueId x) {
              b.output(b.node(Gather{}, {x, b.node(Arange{4, 0, 1}, {})}));
            }),
            "");
  EXPECT_NE(graph_problem_of([](Builder& b, ValueId x) {
              b.output(b.node(Gather{}, {x, b.node(Arange{3, 0, 2}, {})}));
            }),
            "");
}

}  // namespace
}  // namespace fusesmith::graph

#include "graph/gradient.h"

#include <gtest/gtest.h>

#include <cmath>
#include <random>
#include <set>

#include "graph/op_tests/op_tests.h"
#include "graph/rebuild.h"
#include "graph/sanitizers.h"

namespace fusesmith::graph {
namespace {

using namespace op_tests;

Graph graph_of_case(const OpCase& one) {
  Builder b;
  std::vector<ValueId> inputs;
  for (const TensorType& type : one.inputs) {
    const Fill fill = type.dtype == Dtype::i32 ? index_fill(type) : Fill(Constant{0});
    inputs.push_back(b.input("x" + std::to_string(inputs.size()), type, fill));
  }
  const ValueId first = b.node(one.op, inputs, "y");
  for (ValueId v = first; v < b.value_count(); ++v) b.output(v);
  return *b.build();
}

// Away from zero, where several functions have no derivative; positive for roots.
Values drawn(const TensorType& type, bool positive, std::mt19937_64& random) {
  if (type.dtype == Dtype::i32) {
    Values values{type.shape, {}};
    for (int64_t i = 0; i < element_count(type); ++i)
      values.data.push_back(static_cast<double>((3 * i + 1) % 8));
    return values;
  }
  std::uniform_real_distribution<double> size(0.2, 2.0);
  std::bernoulli_distribution coin;
  return generate(type.shape, [&](const Index&) {
    if (type.dtype == Dtype::boolean) return coin(random) ? 1.0 : 0.0;
    return coin(random) && !positive ? -size(random) : size(random);
  });
}

Values moved(const Values& x, const Values& direction, double by) {
  Values y = x;
  for (size_t i = 0; i < y.data.size(); ++i) y.data[i] += by * direction.data[i];
  return y;
}

double dot(const Values& a, const Values& b) {
  return std::inner_product(a.data.begin(), a.data.end(), b.data.begin(), 0.0);
}

// A point: the inputs of a graph, and the gradient of each of its outputs.
struct Point {
  Args inputs;
  Args output_gradients;
};

Point drawn_point(const Graph& graph, std::mt19937_64& random) {
  Point point;
  for (const Input& input : graph.inputs()) {
    const Op& op = graph.nodes().front().op;
    const bool positive = std::holds_alternative<Sqrt>(op) || std::holds_alternative<Rsqrt>(op) ||
                          std::holds_alternative<Log>(op);
    point.inputs.push_back(drawn(input.type, positive, random));
  }
  for (const ValueId v : graph.outputs())
    point.output_gradients.push_back(drawn(graph.type(v), false, random));
  return point;
}

// Of the sum of output * output gradient.
double objective(const Graph& graph, const Args& inputs, const Args& output_gradients) {
  const Args values = eval_graph(graph, inputs);
  double sum = 0;
  for (size_t i = 0; i < graph.outputs().size(); ++i)
    sum += dot(values[static_cast<size_t>(graph.outputs()[i])], output_gradients[i]);
  return sum;
}

// The derivative at a point along a random direction of all float inputs: by the gradient graph, and by the
// difference quotient of order 4. Nothing where the objective is not finite (a row without a visible key),
// and where two quotients differ, because the function has no derivative nearby (two maxima change places).
struct Slopes {
  double gradient, difference;
  double tolerance;  // numbers in a formula are rounded to f32, by which each element's slope may differ
};
std::optional<Slopes> slopes(const Graph& graph, const Graph& backward, std::mt19937_64& random) {
  const Point point = drawn_point(graph, random);
  if (!std::isfinite(objective(graph, point.inputs, point.output_gradients))) return {};
  Args all = point.inputs, directions;
  all.insert(all.end(), point.output_gradients.begin(), point.output_gradients.end());
  const Args values = eval_graph(backward, all);
  double gradient = 0;
  size_t next = 0;
  for (size_t i = 0; i < graph.inputs().size(); ++i) {
    const TensorType& type = graph.inputs()[i].type;
    Values direction = drawn(type, false, random);
    if (is_float(type.dtype))
      gradient += dot(values[static_cast<size_t>(backward.outputs()[next++])], direction);
    else
      direction.data.assign(direction.data.size(), 0);
    directions.push_back(direction);
  }
  const auto at = [&](double by) {
    Args inputs;
    for (size_t i = 0; i < directions.size(); ++i)
      inputs.push_back(moved(point.inputs[i], directions[i], by));
    return objective(graph, inputs, point.output_gradients);
  };
  const auto quotient = [&](double h) {
    return (8 * (at(h) - at(-h)) - (at(2 * h) - at(-2 * h))) / (12 * h);
  };
  const double difference = quotient(1e-4);
  double terms = 0;
  for (const Values& dy : point.output_gradients) {
    for (const double element : dy.data) terms += std::abs(element);
  }
  const double tolerance = 1e-6 * std::abs(difference) + 2e-7 * terms;
  if (std::abs(difference - quotient(2e-5)) > tolerance) return {};
  return Slopes{gradient, difference, tolerance};
}

// Whether it has float inputs, and its first output is f32.
bool is_f32(const Graph& graph) {
  const auto is_float_input = [](const Input& input) { return is_float(input.type.dtype); };
  return std::any_of(graph.inputs().begin(), graph.inputs().end(), is_float_input) &&
         graph.type(graph.outputs()[0]).dtype == Dtype::f32;
}

bool has_no_rule(const Op& op) {
  if (const auto* einsum = std::get_if<Einsum>(&op)) {
    const auto labels = *parse_equation(einsum->equation);
    for (const std::string& own : {labels.a, labels.b}) {
      if (std::set<char>(own.begin(), own.end()).size() != own.size()) return true;
    }
  }
  return false;
}

#if FUSESMITH_ADDRESS_SANITIZER
constexpr int kPoints = 8;  // it makes the test ten times as slow
#else
constexpr int kPoints = 80;
#endif

// Every op with every form of its attributes that has cases, at random points of each: 10,000 together.
TEST(Gradient, AgreesWithDifferencesOfTheDefinition) {
  std::mt19937_64 random(1);
  std::set<std::string> tried;
  int points = 0;
  for (const OpCase& one : op_cases()) {
    const Graph graph = graph_of_case(one);
    if (!is_f32(graph)) continue;
    const auto backward = gradient_graph(graph);
    ASSERT_EQ(backward.ok(), !has_no_rule(one.op))
        << to_string(one.op) << (backward ? "" : ": " + backward.problem());
    if (!backward) continue;
    for (int i = 0; i < kPoints; ++i) {
      const auto found = slopes(graph, *backward, random);
      if (!found) continue;
      ++points;
      tried.insert(std::string(name(one.op)));
      ASSERT_NEAR(found->gradient, found->difference, found->tolerance) << to_string(one.op) << "\n"
                                                                        << to_string(*backward);
    }
  }
  EXPECT_GE(points, 125 * kPoints);
  for_each_op([&]<class T>(std::type_identity<T>) {
    EXPECT_EQ(tried.contains(std::string(T::info.name)), T::info.max_inputs > 0) << T::info.name;
  });
}

// A formula with values that are read several times, a kink and a value that no input reaches.
TEST(Gradient, OfAFormula) {
  const Operand operands[] = {{"x"}, {"y"}};
  const Types types{f({5, 7}), f({5, 7})};
  const auto graph = formula_graph(operands, types, [](const Vars& in) {
    const Var x = in[0], h = exp(x * 0.5) * in[1], k = maximum(h, 0.3);
    return Vars{h * k + k / (1 + x * x), mean(h, 0) * sum(k, -1), minimum(x, 1) * constant(x.builder(), 3)};
  });
  ASSERT_TRUE(graph) << graph.problem();
  const auto backward = gradient_graph(*graph);
  ASSERT_TRUE(backward) << backward.problem();
  std::mt19937_64 random(2);
  for (int i = 0; i < 200; ++i) {
    const auto found = slopes(*graph, *backward, random);
    ASSERT_TRUE(found);
    EXPECT_NEAR(found->gradient, found->difference, found->tolerance);
  }
}

// The derived gradients of `forward`, of dy and the operands, and what the op computes of the same values.
void expect_same(const Op& forward, const Op& backward, const std::vector<int>& from_forward,
                 const Types& operands) {
  const Graph graph = *gradient_graph(graph_of_case({forward, operands}));
  std::mt19937_64 random(3);
  for (int i = 0; i < 100; ++i) {
    Args inputs;
    for (const Input& input : graph.inputs()) inputs.push_back(drawn(input.type, false, random));
    const Args values = eval_graph(graph, inputs);
    Args own;
    for (const int input : from_forward) {
      const Args forward_inputs(inputs.begin(),
                                inputs.begin() + static_cast<std::ptrdiff_t>(operands.size()));
      own.push_back(input >= 0 ? inputs[static_cast<size_t>(input)]
                               : eval_graph(graph_of_case({forward, operands}), forward_inputs).back());
    }
    std::visit(
        [&](const auto& op) {
          for (size_t k = 0; k < graph.outputs().size(); ++k) {
            const Values& want = values[static_cast<size_t>(graph.outputs()[k])];
            const Values got = eval_output(op, own, want.shape, k);
            ASSERT_EQ(got.data.size(), want.data.size());
            for (size_t e = 0; e < want.data.size(); ++e)
              ASSERT_NEAR(got.data[e], want.data[e], 1e-9 * std::max(1.0, std::abs(want.data[e])));
          }
        },
        backward);
  }
}

// The ops for backward passes are the derivatives of the ops that they are named after; 1 more than the last
// operand of the forward op is dy, -1 its result.
TEST(Gradient, OfAnOpIsItsBackwardOp) {
  expect_same(Silu{}, SiluBackward{}, {1, 0}, {f({3, 8})});
  expect_same(Relu{}, ReluBackward{}, {1, 0}, {f({3, 8})});
  expect_same(Sigmoid{}, SigmoidBackward{}, {1, -1}, {f({3, 8})});
  expect_same(Tanh{}, TanhBackward{}, {1, -1}, {f({3, 8})});
  for (const Gelu::Form form : {Gelu::Form::erf, Gelu::Form::tanh})
    expect_same(Gelu{form}, GeluBackward{form}, {1, 0}, {f({3, 8})});
  expect_same(LogSoftmax{-1}, LogSoftmaxBackward{-1}, {1, -1}, {f({3, 8})});
  expect_same(LogSoftmax{0}, LogSoftmaxBackward{0}, {1, -1}, {f({3, 8})});
  expect_same(Softmax{-1}, SoftmaxBackward{-1}, {1, -1}, {f({3, 8})});
  expect_same(Softmax{0}, SoftmaxBackward{0}, {1, -1}, {f({3, 8})});
  expect_same(LayerNorm{1e-3}, LayerNormBackward{1e-3}, {3, 0, 1}, {f({4, 9}), f({9}), f({9})});
  expect_same(RmsNorm{1e-3}, RmsNormBackward{1e-3}, {2, 0, 1}, {f({4, 9}), f({9})});
}

// Compilers differ in which operand of a difference they evaluate first.
TEST(Gradient, NodesStandInTheOrderOfTheirOperands) {
  const auto forward = [](bool left_first) {
    Builder b;
    const ValueId x = b.input("x", f({4}), Normal{});
    ValueId left = 0, right = 0;
    if (left_first) left = b.node(Exp{}, {x}, "left");
    right = b.node(Tanh{}, {x}, "right");
    if (!left_first) left = b.node(Exp{}, {x}, "left");
    b.node(Sqrt{}, {x}, "unread");
    b.output(b.node(Sub{}, {left, right}, "y"));
    return *b.build();
  };
  const Graph ordered = in_reading_order(forward(true));
  EXPECT_TRUE(in_reading_order(forward(false)) == ordered);
  ASSERT_EQ(ordered.nodes().size(), 3);
  EXPECT_EQ(ordered.nodes()[0].name, "left");
  EXPECT_EQ(ordered.nodes()[1].name, "right");
}

// As a kernel that adds rows at their places, not as a product with ones and zeros.
TEST(Gradient, RowsOfATableDoNotReachOthers) {
  const Graph graph = *gradient_graph(graph_of_case({Gather{}, {f({8, 2}), indices({3})}}));
  const double inf = std::numeric_limits<double>::infinity();
  const Args values = eval_graph(graph, {generate({8, 2}, [](const Index&) { return 1; }),
                                         Values{{3}, {5, 2, 5}}, Values{{3, 2}, {1, 2, inf, 4, 8, 16}}});
  const Values& table = values[static_cast<size_t>(graph.outputs()[0])];
  EXPECT_EQ(table.data, (std::vector<double>{0, 0, 0, 0, inf, 4, 0, 0, 0, 0, 9, 18, 0, 0, 0, 0}));
}

TEST(Gradient, SaysWhatHasNoRule) {
  const auto diagonal = gradient_graph(graph_of_case({Einsum{"aab,bc->ac"}, {f({3, 3, 2}), f({2, 4})}}));
  ASSERT_FALSE(diagonal);
  EXPECT_EQ(diagonal.problem(), "einsum: a letter twice in one operand has no rule");
  const auto table = gradient_graph(graph_of_case({Gather{}, {f({65537, 1}), indices({4})}}));
  ASSERT_FALSE(table);
  EXPECT_EQ(table.problem(), "gather: a table of more than 65536 rows");
  Builder b;
  b.output(b.node(Relu{}, {b.input("x", {Dtype::bf16, {4}}, Normal{})}));
  const auto narrow = gradient_graph(*b.build());
  ASSERT_FALSE(narrow);
  EXPECT_EQ(narrow.problem(), "x: expected f32 values, got bf16[4]");
}

}  // namespace
}  // namespace fusesmith::graph

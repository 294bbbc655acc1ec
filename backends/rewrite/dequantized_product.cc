// dequantized_product: a linear layer whose weight is codes of 4 or 8 bits times the scales of their groups
// (W4A16). The weight stays in f32; a kernel that rounds it to the dtype of x is right as well.
#include "backends/rewrite/matching/deviations.h"
#include "backends/rewrite/matching/example_graph.h"
#include "backends/rewrite/patterns.h"

namespace fusesmith::backends {
namespace {

constexpr std::string_view kOtherScale = "other_scale", kOtherShape = "other_shape", kHasBias = "bias";
constexpr std::string_view kDequantizedGuards[] = {kSecondReader, kObserved, kOtherScale, kOtherShape,
                                                   kHasBias};

// The dequantized weight that this value is, if it is one.
std::optional<int> product_with_scale(const MatchContext& context, ValueId weight) {
  const auto n = context.graph().producer(weight);
  if (!n || !context.is_free(*n) || !context.op_as<Mul>(*n)) return std::nullopt;
  const auto cast = context.inner_producer_as<Cast>(context.node(*n).inputs[0]);
  if (!cast || !is_quantized(context.graph().type(context.node(*cast).inputs[0]).dtype)) return std::nullopt;
  if (context.is_inner(weight)) return n;
  context.refuse(context.outer_guard(weight));
  return std::nullopt;
}

std::optional<Match> match_dequantized_product(const MatchContext& context, int n) {
  if (!context.op_as<Linear>(n)) return std::nullopt;
  const Node& linear = context.node(n);
  std::vector<int> nodes{n};
  ValueId weight = linear.inputs[1];
  if (const auto reshape = context.inner_producer_as<Reshape>(weight)) {
    nodes.push_back(*reshape);
    weight = context.node(*reshape).inputs[0];
  }
  const auto product = product_with_scale(context, weight);
  if (!product) return std::nullopt;
  if (linear.inputs.size() > 2) return context.refuse(kHasBias);
  const int cast = *context.inner_producer(context.node(*product).inputs[0]);
  nodes.insert(nodes.end(), {*product, cast});
  DequantizedProduct op;
  op.x = linear.inputs[0];
  op.codes = context.node(cast).inputs[0];
  op.scale = context.node(*product).inputs[1];
  const Shape& codes = context.shape(op.codes);
  op.columns = context.shape(linear.inputs[1])[0];
  op.depth = context.shape(linear.inputs[1])[1];
  op.rows = element_count(context.shape(op.x)) / op.depth;
  const bool in_groups = codes.size() == 3 && codes[0] == op.columns;
  if (!in_groups && codes != Shape{op.columns, op.depth}) return context.refuse(kOtherShape);
  op.groups = in_groups ? codes[1] : 1;
  const Shape scale = in_groups ? Shape{op.columns, op.groups, 1} : Shape{op.columns, 1};
  if (context.shape(op.scale) != scale) return context.refuse(kOtherScale);
  Match found{std::move(nodes), {"dequantized_product"}, {}, op};
  drop_rounding(found.contract, context.graph(), *product);
  return found;
}

struct Weight {
  Dtype format = Dtype::s4;
  bool in_groups = true;
  Shape scale = {};  // in place of its own
};

// [cols, heads, depth] or [cols, depth], dequantized.
ValueId weight(ExampleGraph& g, const ExampleDims& d, const Weight& w) {
  const Shape shape = w.in_groups ? Shape{d.cols, d.heads, d.depth} : Shape{d.cols, d.depth};
  const Shape scales = w.in_groups ? Shape{d.cols, d.heads, 1} : Shape{d.cols, 1};
  const double largest = std::min(max_finite(w.format), 16.0);
  const ValueId codes = g.tensor_of(w.format, "codes", shape, Uniform{-largest, largest});
  const ValueId scale = g.tensor("scale", w.scale.empty() ? scales : w.scale, Uniform{0.01, 0.1});
  return g.node(Mul{}, g.node(Cast{g.dtype()}, codes), scale);
}

// x times the weight [cols, heads depth].
ValueId product(ExampleGraph& g, const ExampleDims& d, ValueId x, const Weight& w) {
  const ValueId dequantized = weight(g, d, w);
  if (!w.in_groups) return g.node(Linear{}, x, dequantized);
  return g.node(Linear{}, x, g.node(Reshape{{d.cols, d.heads * d.depth}}, dequantized));
}

constexpr GraphRecipe kDequantizedExamples[] = {
    {"groups_of_4_bits",
     [](Dtype t, const ExampleDims& d) {
       ExampleGraph g(t);
       const ValueId x = g.tensor("x", {d.batch, d.rows, d.heads * d.depth});
       return g.outputs(product(g, d, x, {}));
     }},
    {"rows_of_8_bits",
     [](Dtype t, const ExampleDims& d) {
       ExampleGraph g(t);
       const ValueId x = g.tensor("x", {d.rows, d.depth});
       return g.outputs(product(g, d, x, {Dtype::s8, false}));
     }},
    {"groups_of_4_bit_floats",
     [](Dtype t, const ExampleDims& d) {
       ExampleGraph g(t);
       const ValueId x = g.tensor("x", {d.heads * d.depth});
       return g.outputs(product(g, d, x, {Dtype::f4e2m1}));
     }},
};

constexpr GraphRecipe kDequantizedNearMisses[] = {
    {"weight_is_an_output",
     [](Dtype t, const ExampleDims& d) {
       ExampleGraph g(t);
       const ValueId x = g.tensor("x", {d.rows, d.depth}), w = weight(g, d, {Dtype::s8, false});
       return g.outputs(w, g.node(Linear{}, x, w));
     }},
    {"weight_of_two_products",
     [](Dtype t, const ExampleDims& d) {
       ExampleGraph g(t);
       const ValueId x = g.tensor("x", {d.rows, d.depth}), y = g.tensor("y", {d.rows, d.depth});
       const ValueId w = weight(g, d, {Dtype::s8, false});
       return g.outputs(g.node(Linear{}, x, w), g.node(Linear{}, y, w));
     }},
    {"scale_of_each_column",
     [](Dtype t, const ExampleDims& d) {
       ExampleGraph g(t);
       const ValueId x = g.tensor("x", {d.rows, d.depth + 1});
       ExampleDims wide = d;
       wide.depth = d.depth + 1;
       return g.outputs(product(g, wide, x, {Dtype::s8, false, {1, wide.depth}}));
     }},
    {"codes_in_another_order",
     [](Dtype t, const ExampleDims& d) {
       ExampleGraph g(t);
       const ValueId x = g.tensor("x", {d.rows, 2 * d.depth});
       ExampleDims other = d;
       other.cols = 2 * d.cols;
       const ValueId w = weight(g, other, {Dtype::s8, false});
       return g.outputs(g.node(Linear{}, x, g.node(Reshape{{d.cols, 2 * d.depth}}, w)));
     }},
    {"with_a_bias",
     [](Dtype t, const ExampleDims& d) {
       ExampleGraph g(t);
       const ValueId x = g.tensor("x", {d.rows, d.depth}), bias = g.tensor("bias", {d.cols});
       return g.outputs(g.node(Linear{}, x, weight(g, d, {Dtype::s8, false}), bias));
     }},
    {"weight_of_floats",
     [](Dtype t, const ExampleDims& d) {
       ExampleGraph g(t);
       const ValueId x = g.tensor("x", {d.rows, d.depth}), w = g.tensor("w", {d.cols, d.depth});
       return g.outputs(g.node(Linear{}, x, g.node(Mul{}, w, g.tensor("scale", {d.cols, 1}))));
     },
     kUnrecognised},
};

}  // namespace

Pattern dequantized_product_pattern() {
  return {
      "dequantized_product",
      "linear with a weight of codes times the scales of their groups -> one product, with the weight in f32",
      match_dequantized_product,
      kDequantizedExamples,
      kDequantizedNearMisses,
      kDequantizedGuards};
}

}  // namespace fusesmith::backends

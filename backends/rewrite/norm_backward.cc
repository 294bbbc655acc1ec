// norm_backward: all gradients of a layer_norm or rms_norm in one pass over each row and one over the
// columns. Where dx is only added to the gradient of another path (the residual stream of a pre-norm block),
// it stays in f32, and the sum is stored in its place.
#include <algorithm>

#include "backends/rewrite/matching/deviations.h"
#include "backends/rewrite/matching/example_graph.h"
#include "backends/rewrite/patterns.h"

namespace fusesmith::backends {
namespace {

std::optional<NormBackward> norm_backward_of(const MatchContext& context, int n) {
  const auto* layer = context.op_as<LayerNormBackward>(n);
  const auto* rms = context.op_as<RmsNormBackward>(n);
  if (!layer && !rms) return std::nullopt;
  const Node& node = context.node(n);
  NormBackward op;
  op.centred = layer != nullptr;
  op.eps = layer ? layer->eps : rms->eps;
  op.dy = node.inputs[0];
  op.x = node.inputs[1];
  op.weight = node.inputs[2];
  const Shape& shape = context.shape(op.x);
  op.columns = shape.back();
  op.rows = element_count(shape) / op.columns;
  op.first_axis = shape.front();
  op.dy_pitch = op.x_pitch = op.addend_pitch = op.columns;
  return op;
}

struct Addition {
  int node;
  ValueId addend;
};

// The addition of dx to a gradient of the same shape, where that is all that reads dx, and the other gradient
// does not depend on those of this node.
std::optional<Addition> addition_of(const MatchContext& context, int n) {
  const ValueId dx = context.output(n);
  const auto reader = context.sole_consumer(dx);
  if (!reader || !context.op_as<Add>(*reader)) return std::nullopt;
  const auto& inputs = context.node(*reader).inputs;
  const ValueId other = inputs[0] == dx ? inputs[1] : inputs[0];
  if (context.shape(other) != context.shape(dx) || context.graph().producer(other) == n ||
      !context.can_run_together({n, *reader}))
    return std::nullopt;
  return Addition{*reader, other};
}

std::optional<Match> match_norm_backward(const MatchContext& context, int n) {
  auto op = norm_backward_of(context, n);
  if (!op) return std::nullopt;
  Match found{{n}, {"norm_backward"}, {}, *op};
  if (const auto addition = addition_of(context, n)) {
    op->addend = addition->addend;
    found.nodes.push_back(addition->node);
    found.op = *op;
    drop_rounding(found.contract, context.graph(), n);
  }
  return found;
}

// dy, x and weight of a norm. Rows have at least four elements: dx of a row of one is 0, and that of a row of
// two nearly so, since all of it cancels but for eps.
struct NormOperands {
  ValueId dy, x, weight;

  NormOperands(ExampleGraph& g, const Shape& shape, Fill fill = Normal{})
      : dy(g.tensor("dy", shape)),
        x(g.tensor("x", shape, fill)),
        weight(g.tensor("weight", {shape.back()})) {}
};

Shape of_three_axes(const ExampleDims& d) { return {d.batch, d.rows, std::max<int64_t>(4, d.depth)}; }

// The gradients, dx being added to that of another path.
template <class Op>
Graph added(Dtype t, const ExampleDims& d, Op op, bool first) {
  ExampleGraph g(t);
  const NormOperands o(g, of_three_axes(d));
  const ValueId residual = g.tensor("residual", of_three_axes(d)), dx = g.node(op, o.dy, o.x, o.weight);
  const ValueId sum = first ? g.node(Add{}, dx, residual) : g.node(Add{}, residual, dx);
  if constexpr (std::is_same_v<Op, LayerNormBackward>)
    return g.outputs(sum, dx + 1, dx + 2);
  else
    return g.outputs(sum, dx + 1);
}

constexpr GraphRecipe kNormBackwardExamples[] = {
    {"of_layer_norm",
     [](Dtype t, const ExampleDims& d) {
       ExampleGraph g(t);
       const NormOperands o(g, of_three_axes(d), Normal{0.5, 2});
       const ValueId dx = g.node(LayerNormBackward{}, o.dy, o.x, o.weight);
       return g.outputs(dx, dx + 1, dx + 2);
     }},
    {"of_rms_norm",
     [](Dtype t, const ExampleDims& d) {
       ExampleGraph g(t);
       const NormOperands o(g, {d.rows, std::max<int64_t>(4, d.depth)});
       const ValueId dx = g.node(RmsNormBackward{1e-5}, o.dy, o.x, o.weight);
       return g.outputs(dx, dx + 1);
     }},
    {"of_many_rows",
     [](Dtype t, const ExampleDims& d) {
       ExampleGraph g(t);
       const NormOperands o(g, {8 * d.batch * d.rows, std::max<int64_t>(4, d.depth)});
       const ValueId dx = g.node(LayerNormBackward{0.25}, o.dy, o.x, o.weight);
       return g.outputs(dx, dx + 1, dx + 2);
     }},
    {"of_layer_norm_and_residual",
     [](Dtype t, const ExampleDims& d) { return added(t, d, LayerNormBackward{1e-3}, true); }},
    {"of_rms_norm_and_residual",
     [](Dtype t, const ExampleDims& d) { return added(t, d, RmsNormBackward{}, false); }},
};

constexpr GraphRecipe kNormBackwardNearMisses[] = {
    {"layer_norm",
     [](Dtype t, const ExampleDims& d) {
       ExampleGraph g(t);
       return g.outputs(g.node(LayerNorm{}, g.tensor("x", {d.batch, d.rows, d.depth})));
     },
     kUnrecognised},
    {"softmax_backward",
     [](Dtype t, const ExampleDims& d) {
       ExampleGraph g(t);
       const ValueId dy = g.tensor("dy", {d.rows, d.depth}), y = g.tensor("y", {d.rows, d.depth});
       return g.outputs(g.node(SoftmaxBackward{}, dy, y));
     },
     kUnrecognised},
};

}  // namespace

Pattern norm_backward_pattern() {
  return {
      "norm_backward",
      "gradients of layer_norm or rms_norm, added to another one or not -> one pass over the rows, partial "
      "sums of columns",
      match_norm_backward, kNormBackwardExamples, kNormBackwardNearMisses};
}

}  // namespace fusesmith::backends

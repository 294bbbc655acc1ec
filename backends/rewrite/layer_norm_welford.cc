// layer_norm_welford: a layer_norm whose mean and variance are gathered in one pass by Welford's method
// (Welford 1962; merging after Chan, Golub and LeVeque 1979).
#include "backends/rewrite/matching/example_graph.h"
#include "backends/rewrite/patterns.h"

namespace fusesmith::backends {
namespace {

std::optional<Match> match_layer_norm_welford(const MatchContext& context, int n) {
  const auto* op = context.op_as<LayerNorm>(n);
  if (!op) return std::nullopt;
  const Node& node = context.node(n);
  WelfordNorm norm;
  norm.x = node.inputs[0];
  if (node.inputs.size() > 1) norm.weight = node.inputs[1];
  if (node.inputs.size() > 2) norm.bias = node.inputs[2];
  norm.eps = op->eps;
  norm.columns = context.shape(norm.x).back();
  norm.rows = element_count(context.shape(norm.x)) / norm.columns;
  norm.pitch = norm.columns;
  Match found{{n}, {"layer_norm_welford"}, {}, norm};
  found.contract.arithmetic.variance = Arithmetic::Variance::welford;
  return found;
}

constexpr GraphRecipe kLayerNormWelfordExamples[] = {
    {"affine",
     [](Dtype t, const ExampleDims& d) {
       ExampleGraph g(t);
       const ValueId x = g.tensor("x", {d.batch, d.rows, d.depth}, Normal{0.5, 2});
       const ValueId weight = g.tensor("weight", {d.depth}), bias = g.tensor("bias", {d.depth});
       return g.outputs(g.node(LayerNorm{}, x, weight, bias));
     }},
    {"weight_only",
     [](Dtype t, const ExampleDims& d) {
       ExampleGraph g(t);
       const ValueId x = g.tensor("x", {d.rows, d.depth}), weight = g.tensor("weight", {d.depth});
       return g.outputs(g.node(LayerNorm{1e-3}, x, weight));
     }},
    {"plain",
     [](Dtype t, const ExampleDims& d) {
       ExampleGraph g(t);
       return g.outputs(g.node(LayerNorm{0.25}, g.tensor("x", {d.rows, d.depth})));
     }},
    {"large_mean",
     [](Dtype t, const ExampleDims& d) {
       ExampleGraph g(t);
       return g.outputs(g.node(LayerNorm{}, g.tensor("x", {d.rows, d.depth}, Normal{64, 0.25})));
     }},
};

constexpr GraphRecipe kLayerNormWelfordNearMisses[] = {
    {"softmax",
     [](Dtype t, const ExampleDims& d) {
       ExampleGraph g(t);
       return g.outputs(g.node(Softmax{}, g.tensor("x", {d.batch, d.rows, d.depth})));
     },
     kUnrecognised},
    {"rms_norm",
     [](Dtype t, const ExampleDims& d) {
       ExampleGraph g(t);
       const ValueId x = g.tensor("x", {d.rows, d.depth}), weight = g.tensor("weight", {d.depth});
       return g.outputs(g.node(RmsNorm{}, x, weight));
     },
     kUnrecognised},
};

}  // namespace

Pattern layer_norm_welford_pattern() {
  return {"layer_norm_welford", "layer_norm -> one pass over each row by Welford's method",
          match_layer_norm_welford, kLayerNormWelfordExamples, kLayerNormWelfordNearMisses};
}

}  // namespace fusesmith::backends

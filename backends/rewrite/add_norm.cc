// add_norm: computes a residual addition and the layer_norm or rms_norm of its sum in one pass over each
// row. The norm reads the f32 sum. If other nodes read the sum, too (the residual stream of a pre-norm
// block), it is also stored, rounded. The pattern comes before gemm_bias_act: a product whose sum is
// normalised keeps its own rounding, and the addition is fused with the norm, as in the kernels of
// inference engines.
#include <algorithm>

#include "backends/rewrite/matching/deviations.h"
#include "backends/rewrite/matching/example_graph.h"
#include "backends/rewrite/patterns.h"

namespace fusesmith::backends {
namespace {

constexpr std::string_view kBroadcastAddend = "broadcast_addend";
constexpr std::string_view kOwnWeight = "sum_as_weight";
constexpr std::string_view kPath = "path_outside";
constexpr std::string_view kAddNormGuards[] = {kBroadcastAddend, kOwnWeight, kPath};

// The norm at this node over its first input, if it is one.
std::optional<AddNorm> norm_of(const MatchContext& context, int n) {
  const auto* layer = context.op_as<LayerNorm>(n);
  const auto* rms = context.op_as<RmsNorm>(n);
  if (!layer && !rms) return std::nullopt;
  const Node& node = context.node(n);
  AddNorm norm;
  norm.kind = layer ? AddNorm::Kind::layer_norm : AddNorm::Kind::rms_norm;
  norm.eps = layer ? layer->eps : rms->eps;
  if (node.inputs.size() > 1) norm.weight = node.inputs[1];
  if (node.inputs.size() > 2) norm.bias = node.inputs[2];
  const Shape& shape = context.shape(node.first_output);
  norm.columns = shape.back();
  norm.rows = element_count(shape) / norm.columns;
  norm.x_pitch = norm.addend_pitch = norm.columns;
  return norm;
}

// Injected fault: a 16-bit sum may be cast to f32 before a norm, whose weight is then f32.
std::optional<int> taken_upcast(const MatchContext& context, int n) {
  const std::vector<ValueId>& inputs = context.node(n).inputs;
  if (!context.faults().has("norm_weight_read_as_16_bits") || inputs.size() < 2) return std::nullopt;
  const auto cast = context.inner_producer_as<Cast>(inputs[0]);
  if (!cast || context.graph().type(inputs[0]).dtype != Dtype::f32) return std::nullopt;
  const ValueId sum = context.node(*cast).inputs[0];
  if (!is_narrow(context.graph().type(sum).dtype)) return std::nullopt;
  return context.inner_producer_as<Add>(sum) ? cast : std::nullopt;
}

std::optional<Match> match_add_norm(const MatchContext& context, int n) {
  std::optional<AddNorm> norm = norm_of(context, n);
  if (!norm) return std::nullopt;
  const auto upcast = taken_upcast(context, n);
  const auto add = context.graph().producer(context.node(upcast.value_or(n)).inputs[0]);
  if (!add || !context.is_free(*add) || !context.op_as<Add>(*add)) return std::nullopt;
  const Node& addition = context.node(*add);
  const ValueId sum = addition.first_output;
  norm->x = addition.inputs[0];
  norm->addend = addition.inputs[1];
  const auto is_whole = [&](ValueId value) { return context.shape(value) == context.shape(sum); };
  if (!is_whole(norm->x) || !is_whole(norm->addend)) return context.refuse(kBroadcastAddend);
  if (norm->weight == sum || norm->bias == sum) return context.refuse(kOwnWeight);
  Match found{{*add, n}, {"add_norm"}, {}, *norm};
  if (upcast) found.nodes.push_back(*upcast);
  if (!context.can_run_together(found.nodes)) return context.refuse(kPath);
  if (norm->kind == AddNorm::Kind::layer_norm)
    found.contract.arithmetic.variance = Arithmetic::Variance::welford;
  drop_rounding(found.contract, context.graph(), *add);
  return found;
}

// x + residual. Rejects rows of one element, whose norm does not depend on them.
struct Residual {
  int64_t columns;
  ValueId x, residual;

  Residual(ExampleGraph& g, const ExampleDims& d, Fill fill = Normal{})
      : columns(std::max<int64_t>(2, d.depth)),
        x(g.tensor("x", {d.batch, d.rows, columns}, fill)),
        residual(g.tensor("residual", {d.batch, d.rows, columns}, fill)) {}
};

constexpr GraphRecipe kAddNormExamples[] = {
    {"layer_norm",
     [](Dtype t, const ExampleDims& d) {
       ExampleGraph g(t);
       const Residual r(g, d);
       const ValueId weight = g.tensor("weight", {r.columns}), bias = g.tensor("bias", {r.columns});
       return g.outputs(g.node(LayerNorm{}, g.node(Add{}, r.x, r.residual), weight, bias));
     }},
    {"rms_norm",
     [](Dtype t, const ExampleDims& d) {
       ExampleGraph g(t);
       const Residual r(g, d);
       const ValueId weight = g.tensor("weight", {r.columns});
       return g.outputs(g.node(RmsNorm{}, g.node(Add{}, r.residual, r.x), weight));
     }},
    {"layer_norm_residual_goes_on",
     [](Dtype t, const ExampleDims& d) {
       ExampleGraph g(t);
       const Residual r(g, d);
       const ValueId weight = g.tensor("weight", {r.columns}), sum = g.node(Add{}, r.x, r.residual);
       return g.outputs(sum, g.node(LayerNorm{1e-3}, sum, weight));
     }},
    {"rms_norm_residual_goes_on",
     [](Dtype t, const ExampleDims& d) {
       ExampleGraph g(t);
       const Residual r(g, d);
       const ValueId weight = g.tensor("weight", {r.columns}), sum = g.node(Add{}, r.x, r.residual);
       return g.outputs(sum, g.node(RmsNorm{0.25}, sum, weight));
     }},
    {"plain_with_large_mean",
     [](Dtype t, const ExampleDims& d) {
       ExampleGraph g(t);
       const Residual r(g, d, Normal{16, 0.25});
       return g.outputs(g.node(LayerNorm{}, g.node(Add{}, r.x, r.residual)));
     }},
    {"rms_norm_of_doubled_rows",
     [](Dtype t, const ExampleDims& d) {
       ExampleGraph g(t);
       const ValueId x = g.tensor("x", {d.rows, d.depth}, Normal{1, 1});
       return g.outputs(g.node(RmsNorm{}, g.node(Add{}, x, x)));
     }},
};

constexpr GraphRecipe kAddNormNearMisses[] = {
    {"bias_added",
     [](Dtype t, const ExampleDims& d) {
       ExampleGraph g(t);
       const Residual r(g, d);
       const ValueId bias = g.tensor("bias", {r.columns});
       return g.outputs(g.node(LayerNorm{}, g.node(Add{}, r.x, bias)));
     }},
    {"sum_is_its_weight",
     [](Dtype t, const ExampleDims& d) {
       ExampleGraph g(t);
       const ValueId x = g.tensor("x", {d.depth}), residual = g.tensor("residual", {d.depth});
       const ValueId sum = g.node(Add{}, x, residual);
       return g.outputs(g.node(RmsNorm{}, sum, sum));
     }},
    {"weight_made_of_the_sum",
     [](Dtype t, const ExampleDims& d) {
       ExampleGraph g(t);
       const ValueId x = g.tensor("x", {d.rows, d.depth}), residual = g.tensor("residual", {d.rows, d.depth});
       const ValueId sum = g.node(Add{}, x, residual);
       return g.outputs(g.node(LayerNorm{}, sum, g.node(ReduceMean{{0}}, sum)));
     }},
    {"residual_added_after",
     [](Dtype t, const ExampleDims& d) {
       ExampleGraph g(t);
       const Residual r(g, d);
       return g.outputs(g.node(Add{}, g.node(LayerNorm{}, r.x), r.residual));
     },
     kUnrecognised},
    {"difference",
     [](Dtype t, const ExampleDims& d) {
       ExampleGraph g(t);
       const Residual r(g, d);
       return g.outputs(g.node(RmsNorm{}, g.node(Sub{}, r.x, r.residual)));
     },
     kUnrecognised},
    {"cast_in_between",
     [](Dtype t, const ExampleDims& d) {
       ExampleGraph g(t);
       const Residual r(g, d);
       const ValueId weight = g.tensor_of(g.other_dtype(), "weight", {r.columns});
       const ValueId sum = g.node(Cast{g.other_dtype()}, g.node(Add{}, r.x, r.residual));
       return g.outputs(g.node(RmsNorm{}, sum, weight));
     },
     kUnrecognised},
};

}  // namespace

Pattern add_norm_pattern() {
  return {
      "add_norm",
      "an addition, then layer_norm or rms_norm of the sum -> one pass over each row, which may store the "
      "sum too",
      match_add_norm,
      kAddNormExamples,
      kAddNormNearMisses,
      kAddNormGuards};
}

}  // namespace fusesmith::backends

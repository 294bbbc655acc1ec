// Examples and near misses of attention_backward.
#include <algorithm>

#include "backends/rewrite/sdpa/attention_backward.h"
#include "backends/rewrite/sdpa/sdpa_graphs.h"

namespace fusesmith::backends {
namespace {

// With few keys, probabilities are near 1 and the gradients of scores cancel.
ExampleDims of_several_keys(ExampleDims d) {
  d.cols = std::max<int64_t>(4, d.cols);
  return d;
}

ValueId gradient_of_result(ExampleGraph& g, const Qkv& in) {
  Shape shape = g.shape(in.q);
  shape.back() = g.shape(in.v).back();
  return g.tensor("dy", std::move(shape));
}

struct Gradients {
  ValueId dq, dk, dv;
};

// Of scores, by way of p: `scale` multiplies the gradient of the scores, if it is not 0.
Gradients gradients(ExampleGraph& g, const Qkv& in, ValueId scores, ValueId dy, double scale, bool inverse) {
  const ValueId p = g.node(Softmax{}, scores), dv = g.node(Matmul{true, false}, p, dy);
  ValueId ds = g.node(SoftmaxBackward{}, g.node(Matmul{false, true}, dy, in.v), p);
  if (scale != 0) ds = g.node(Scale{scale, inverse}, ds);
  const ValueId dq = g.node(Matmul{}, ds, in.k);
  return {dq, g.node(Matmul{true, false}, ds, in.q), dv};
}

Graph all_gradients(ExampleGraph& g, const Qkv& in, ValueId scores, ValueId dy, double scale = 0,
                    bool inverse = false) {
  const Gradients made = gradients(g, in, scores, dy, scale, inverse);
  return g.outputs(made.dq, made.dk, made.dv);
}

// `make` gives the mask, an input or none; `hide` applies it to the scores.
template <class Make, class Hide>
Graph with_mask(Dtype dtype, const ExampleDims& d, Make make, Hide hide) {
  ExampleGraph g(dtype);
  const Qkv in = qkv(g, d);
  const ValueId dy = gradient_of_result(g, in), mask = make(g);
  const ValueId scores = scaled_scores(g, in, d);
  return all_gradients(g, in, hide(g, scores, mask), dy, 0.3);
}

// Keys that a boolean input hides.
Graph with_boolean_mask(Dtype dtype, const ExampleDims& dims, double score) {
  const ExampleDims d = of_several_keys(dims);
  return with_mask(
      dtype, d,
      [&](ExampleGraph& g) {
        return g.mask("mask", {d.batch, 1, 1, d.cols}, 0.2);
      },
      [&](ExampleGraph& g, ValueId scores, ValueId mask) { return g.node(MaskedFill{score}, scores, mask); });
}

Graph with_causal_mask(Dtype dtype, ExampleDims d, CausalAlignment alignment, int64_t window) {
  d.cols = std::max(d.cols, d.rows + 3);
  if (alignment == CausalAlignment::top_left) d.rows = d.cols;
  return with_mask(
      dtype, d, [](ExampleGraph&) { return -1; },
      [&](ExampleGraph& g, ValueId scores, ValueId) {
        const ValueId hidden = g.node(CausalMask{d.rows, d.cols, alignment, window});
        return g.node(MaskedFill{kHidden}, scores, hidden);
      });
}

constexpr GraphRecipe kAttentionBackwardExamples[] = {
    {"scaled",
     [](Dtype t, const ExampleDims& dims) {
       const ExampleDims d = of_several_keys(dims);
       ExampleGraph g(t);
       const Qkv in = qkv(g, d);
       const ValueId dy = gradient_of_result(g, in);
       const ValueId scores = scaled_scores(g, in, d);
       return all_gradients(g, in, scores, dy, 1 / std::sqrt(static_cast<double>(d.depth)));
     }},
    {"of_one_head_without_scale",
     [](Dtype t, const ExampleDims& dims) {
       const ExampleDims d = of_several_keys(dims);
       ExampleGraph g(t);
       const ValueId q = g.tensor("q", {d.rows, d.depth}), k = g.tensor("k", {d.cols, d.depth});
       const Qkv in{q, k, g.tensor("v", {d.cols, d.width})};
       const ValueId dy = gradient_of_result(g, in);
       return all_gradients(g, in, g.node(Matmul{false, true}, in.q, in.k), dy);
     }},
    {"divided_with_transposed_keys",
     [](Dtype t, const ExampleDims& dims) {
       const ExampleDims d = of_several_keys(dims);
       ExampleGraph g(t);
       const Qkv in = qkv(g, d);
       const ValueId dy = gradient_of_result(g, in);
       const ValueId k = g.node(Permute{{0, 1, 3, 2}}, in.k);
       const ValueId scores = g.node(Scale{3, true}, g.node(Matmul{}, in.q, k));
       return all_gradients(g, in, scores, dy, 3, true);
     }},
    {"causal_from_the_bottom_right",
     [](Dtype t, const ExampleDims& d) { return with_causal_mask(t, d, CausalAlignment::bottom_right, 0); }},
    {"causal_with_a_window",
     [](Dtype t, const ExampleDims& d) { return with_causal_mask(t, d, CausalAlignment::top_left, 5); }},
    {"boolean_mask", [](Dtype t, const ExampleDims& d) { return with_boolean_mask(t, d, kHidden); }},
    {"additive_mask",
     [](Dtype t, const ExampleDims& dims) {
       const ExampleDims d = of_several_keys(dims);
       return with_mask(
           t, d,
           [&](ExampleGraph& g) {
             return g.tensor("mask", {d.heads, d.rows, d.cols});
           },
           [](ExampleGraph& g, ValueId scores, ValueId mask) { return g.node(Add{}, scores, mask); });
     }},
};

constexpr GraphRecipe kAttentionBackwardNearMisses[] = {
    {"softmax_over_queries",
     [](Dtype t, const ExampleDims& d) {
       ExampleGraph g(t);
       const Qkv in = qkv(g, d);
       const ValueId dy = gradient_of_result(g, in);
       const ValueId p = g.node(Softmax{-2}, scaled_scores(g, in, d));
       const ValueId ds = g.node(SoftmaxBackward{-2}, g.node(Matmul{false, true}, dy, in.v), p);
       const ValueId dq = g.node(Matmul{}, ds, in.k), dk = g.node(Matmul{true, false}, ds, in.q);
       return g.outputs(dq, dk, g.node(Matmul{true, false}, p, dy));
     }},
    {"gradient_of_scores_is_an_output",
     [](Dtype t, const ExampleDims& dims) {
       const ExampleDims d = of_several_keys(dims);
       ExampleGraph g(t);
       const Qkv in = qkv(g, d);
       const ValueId dy = gradient_of_result(g, in);
       const ValueId p = g.node(Softmax{}, scaled_scores(g, in, d));
       const ValueId ds = g.node(SoftmaxBackward{}, g.node(Matmul{false, true}, dy, in.v), p);
       const ValueId dq = g.node(Matmul{}, ds, in.k), dk = g.node(Matmul{true, false}, ds, in.q);
       return g.outputs(ds, dq, dk, g.node(Matmul{true, false}, p, dy));
     }},
    {"hidden_keys_have_a_finite_score",
     [](Dtype t, const ExampleDims& d) { return with_boolean_mask(t, d, -100); }},
    {"gradient_of_other_keys",
     [](Dtype t, const ExampleDims& dims) {
       const ExampleDims d = of_several_keys(dims);
       ExampleGraph g(t);
       const Qkv in = qkv(g, d);
       const ValueId other = g.tensor("other", {d.batch, d.heads, d.cols, d.depth});
       const ValueId dy = gradient_of_result(g, in);
       return all_gradients(g, {in.q, other, in.v}, scaled_scores(g, in, d), dy, 0.5);
     }},
    {"without_scores",
     [](Dtype t, const ExampleDims& dims) {
       const ExampleDims d = of_several_keys(dims);
       ExampleGraph g(t);
       const Qkv in = qkv(g, d);
       const ValueId dy = gradient_of_result(g, in);
       return all_gradients(g, in, g.tensor("scores", {d.batch, d.heads, d.rows, d.cols}), dy);
     },
     kUnrecognised},
};

}  // namespace

std::span<const GraphRecipe> attention_backward_examples() { return kAttentionBackwardExamples; }
std::span<const GraphRecipe> attention_backward_near_misses() { return kAttentionBackwardNearMisses; }

}  // namespace fusesmith::backends

// Near misses of sdpa: each differs from attention in one thing that the fused kernel would get wrong.
#include <algorithm>

#include "backends/rewrite/sdpa/sdpa_graphs.h"
#include "backends/rewrite/sdpa/sdpa_matcher.h"

namespace fusesmith::backends {
namespace {

// A size at which two axes, or a vector and a number, cannot be told apart is no near miss.
ExampleDims at_least_two(ExampleDims d) {
  for (int64_t* size : {&d.batch, &d.heads, &d.rows, &d.cols, &d.depth, &d.width})
    *size = std::max<int64_t>(*size, 2);
  return d;
}

// q [batch, heads, rows, depth] and something of another layout that some permutation of axes turns into
// k^T's shape.
Graph permuted_keys(Dtype dtype, const ExampleDims& d, Shape k_shape, Shape dims) {
  ExampleGraph g(dtype);
  const ValueId q = g.tensor("q", {d.batch, d.heads, d.rows, d.depth}), k = g.tensor("k", std::move(k_shape));
  const ValueId v = g.tensor("v", {d.batch, d.heads, d.cols, d.width});
  return attend(g, g.node(Scale{0.5}, g.node(Matmul{}, q, g.node(Permute{std::move(dims)}, k))), {q, k, v});
}

constexpr GraphRecipe kSdpaNearMisses[] = {
    {"scores_have_a_second_consumer",
     [](Dtype t, const ExampleDims& d) {
       ExampleGraph g(t);
       const Qkv in = qkv(g, d);
       const ValueId scores = g.node(Matmul{false, true}, in.q, in.k);
       const ValueId p = g.node(Softmax{}, g.node(Scale{0.5}, scores));
       const ValueId out = g.node(Matmul{}, p, in.v);
       return g.outputs(out, g.node(Relu{}, scores));
     }},
    {"probabilities_are_an_output",
     [](Dtype t, const ExampleDims& d) {
       ExampleGraph g(t);
       const Qkv in = qkv(g, d);
       const ValueId p = g.node(Softmax{}, scaled_scores(g, in, d));
       return g.outputs(g.node(Matmul{}, p, in.v), p);
     }},
    {"transposed_keys_have_a_second_consumer",
     [](Dtype t, const ExampleDims& d) {
       ExampleGraph g(t);
       const Qkv in = qkv(g, d);
       const ValueId k = g.node(Permute{{0, 1, 3, 2}}, in.k);
       const ValueId p = g.node(Softmax{}, g.node(Matmul{}, in.q, k));
       return g.outputs(g.node(Matmul{}, p, in.v), k);
     }},
    {"cast_before_softmax",
     [](Dtype t, const ExampleDims& d) {
       ExampleGraph g(t);
       const Qkv in = qkv(g, d);
       const ValueId scores = g.node(Cast{g.other_dtype()}, scaled_scores(g, in, d));
       return g.outputs(g.node(Matmul{}, g.node(Cast{t}, g.node(Softmax{}, scores)), in.v));
     }},
    {"cast_after_softmax",
     [](Dtype t, const ExampleDims& d) {
       ExampleGraph g(t);
       const Qkv in = qkv(g, d);
       const ValueId p = g.node(Softmax{}, scaled_scores(g, in, d));
       return g.outputs(g.node(Matmul{}, g.node(Cast{t}, p), in.v));
     }},
    {"softmax_over_queries",
     [](Dtype t, const ExampleDims& d) {
       ExampleGraph g(t);
       const Qkv in = qkv(g, d);
       return g.outputs(g.node(Matmul{}, g.node(Softmax{-2}, scaled_scores(g, in, d)), in.v));
     }},
    {"keys_with_depth_first",
     [](Dtype t, const ExampleDims& d) {
       return permuted_keys(t, d, {d.batch, d.heads, d.depth, d.cols}, {0, 1, 2, 3});
     }},
    {"keys_with_heads_and_batch_swapped",
     [](Dtype t, const ExampleDims& d) {
       return permuted_keys(t, d, {d.heads, d.batch, d.cols, d.depth}, {1, 0, 3, 2});
     }},
    {"keys_with_heads_inside",
     [](Dtype t, const ExampleDims& d) {
       return permuted_keys(t, d, {d.batch, d.cols, d.heads, d.depth}, {0, 2, 3, 1});
     }},
    {"scaled_by_a_vector",
     [](Dtype t, const ExampleDims& any) {
       const ExampleDims d = at_least_two(any);
       ExampleGraph g(t);
       const Qkv in = qkv(g, d);
       const ValueId factor = g.tensor("factor", {d.cols});
       return attend(g, g.node(Mul{}, g.node(Matmul{false, true}, in.q, in.k), factor), in);
     }},
    {"scores_are_the_divisor",
     [](Dtype t, const ExampleDims& any) {
       const ExampleDims d = at_least_two(any);
       ExampleGraph g(t);
       const Qkv in = qkv(g, d);
       const ValueId dividend = g.tensor("dividend", {});
       return attend(g, g.node(Div{}, dividend, g.node(Matmul{false, true}, in.q, in.k)), in);
     }},
    {"masked_with_a_finite_value",
     [](Dtype t, const ExampleDims& d) {
       ExampleGraph g(t);
       const Qkv in = qkv(g, d);
       const ValueId hidden = g.mask("hidden", {d.rows, d.cols});
       return attend(g, g.node(MaskedFill{-10000}, scaled_scores(g, in, d), hidden), in);
     }},
    {"mask_that_enlarges_the_scores",
     [](Dtype t, const ExampleDims& any) {
       const ExampleDims d = at_least_two(any);
       ExampleGraph g(t);
       const ValueId q = g.tensor("q", {d.rows, d.depth}), k = g.tensor("k", {d.cols, d.depth});
       const ValueId v = g.tensor("v", {d.cols, d.width}), mask = g.tensor("mask", {d.batch, d.rows, d.cols});
       return attend(g, g.node(Add{}, g.node(Matmul{false, true}, q, k), mask), {q, k, v});
     }},
    {"scaled_after_the_mask",
     [](Dtype t, const ExampleDims& d) {
       ExampleGraph g(t);
       const Qkv in = qkv(g, d);
       const ValueId hidden = g.mask("hidden", {d.rows, d.cols});
       const ValueId scores = g.node(MaskedFill{kHidden}, g.node(Matmul{false, true}, in.q, in.k), hidden);
       return attend(g, g.node(Scale{0.5}, scores), in);
     }},
    {"capped_after_the_mask",
     [](Dtype t, const ExampleDims& d) {
       ExampleGraph g(t);
       const Qkv in = qkv(g, d);
       const ValueId hidden = g.mask("hidden", {d.rows, d.cols});
       return attend(g, g.node(Softcap{2}, g.node(MaskedFill{kHidden}, scaled_scores(g, in, d), hidden)), in);
     }},
    {"scaled_after_the_cap",
     [](Dtype t, const ExampleDims& d) {
       ExampleGraph g(t);
       const Qkv in = qkv(g, d);
       const ValueId capped = g.node(Softcap{2}, g.node(Matmul{false, true}, in.q, in.k));
       return attend(g, g.node(Scale{0.5}, capped), in);
     }},
    {"two_masks",
     [](Dtype t, const ExampleDims& d) {
       ExampleGraph g(t);
       const Qkv in = qkv(g, d);
       const ValueId bias = g.tensor("bias", {d.batch, 1, 1, d.cols});
       const ValueId once = g.node(Add{}, scaled_scores(g, in, d), bias);
       return attend(g, g.node(MaskedFill{kHidden}, once, g.node(CausalMask{d.rows, d.cols})), in);
     }},
    {"multiplied_by_a_mask",
     [](Dtype t, const ExampleDims& any) {
       const ExampleDims d = at_least_two(any);
       ExampleGraph g(t);
       const Qkv in = qkv(g, d);
       const ValueId visible = g.tensor("visible", {d.rows, d.cols}, Lattice{1, 0});
       return attend(g, g.node(Mul{}, visible, scaled_scores(g, in, d)), in);
     }},
    {"probabilities_transposed",
     [](Dtype t, const ExampleDims& d) {
       ExampleGraph g(t);
       const Qkv in = qkv(g, d);
       const ValueId u = g.tensor("u", {d.batch, d.heads, d.rows, d.width});
       return g.outputs(g.node(Matmul{true, false}, g.node(Softmax{}, scaled_scores(g, in, d)), u));
     }},
    {"probabilities_on_the_right",
     [](Dtype t, const ExampleDims& d) {
       ExampleGraph g(t);
       const Qkv in = qkv(g, d);
       const ValueId u = g.tensor("u", {d.batch, d.heads, d.width, d.rows});
       return g.outputs(g.node(Matmul{}, u, g.node(Softmax{}, scaled_scores(g, in, d))));
     }},
};

}  // namespace

std::span<const GraphRecipe> sdpa_near_misses() { return kSdpaNearMisses; }

std::span<const std::string_view> sdpa_guards() {
  static constexpr std::string_view kSdpaGuards[] = {
      "probabilities_on_the_right",
      "probabilities_transposed",
      "inner_value_read_elsewhere",
      "cast_inside",
      "softmax_axis",
      "keys_not_transposed",
      "scale_not_scalar",
      "scores_divide",
      "finite_mask_value",
      "enlarges_scores",
      "steps_in_another_order",
  };
  return kSdpaGuards;
}

}  // namespace fusesmith::backends

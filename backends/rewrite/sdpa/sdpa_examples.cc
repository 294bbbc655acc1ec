// Examples of sdpa: the forms in which frameworks write attention (PyTorch's fuse_attention.py numbers some
// of them).
#include <algorithm>
#include <cmath>

#include "backends/rewrite/matching/example_graph.h"
#include "backends/rewrite/sdpa/sdpa_graphs.h"
#include "backends/rewrite/sdpa/sdpa_matcher.h"

namespace fusesmith::backends {
namespace {

// At least so wide that from the top left every query sees a key.
int64_t seeing_window(int64_t window, const ExampleDims& d) {
  return window == 0 ? 0 : std::max(window, d.rows - d.cols + 1);
}

Graph composite(Dtype dtype, const ExampleDims& d, Sdpa op) {
  ExampleGraph g(dtype);
  op.window = seeing_window(op.window, d);
  const Qkv in = op.grouped_heads ? grouped_qkv(g, d, 3) : qkv(g, d);
  if (op.mask == Sdpa::Mask::boolean)
    return g.outputs(g.node(op, in.q, in.k, in.v, g.mask("mask", {d.batch, 1, 1, d.cols}, 0.75)));
  if (op.mask == Sdpa::Mask::additive) {
    return g.outputs(g.node(op, in.q, in.k, in.v, g.tensor("mask", {g.shape(in.q)[1], d.rows, d.cols})));
  }
  return g.outputs(g.node(op, in.q, in.k, in.v));
}

Graph causal(Dtype dtype, const ExampleDims& d, CausalAlignment alignment, int64_t window = 0,
             bool shows_future = false) {
  ExampleGraph g(dtype);
  const Qkv in = qkv(g, d);
  const CausalMask mask{d.rows, d.cols, alignment, seeing_window(window, d), shows_future};
  const ValueId hidden = g.node(mask);
  return attend(g, g.node(MaskedFill{kHidden}, scaled_scores(g, in, d), hidden), in);
}

Sdpa with_window(Sdpa op, int64_t window) {
  op.window = window;
  return op;
}
Sdpa with_softcap(Sdpa op, double softcap) {
  op.softcap = softcap;
  return op;
}
Sdpa with_groups(Sdpa op) {
  op.grouped_heads = true;
  return op;
}

constexpr auto kBoth = Sdpa::ScaleOn::both;
constexpr auto kOnScores = Sdpa::ScaleOn::scores;

constexpr GraphRecipe kSdpaExamples[] = {
    {"single_head_pattern_11",
     [](Dtype t, const ExampleDims& d) {
       ExampleGraph g(t);
       const Qkv in = qkv(g, {d.batch, 1, d.rows, d.cols, d.depth, d.width});
       const ValueId scores = g.node(Matmul{}, in.q, g.node(Permute{{0, 1, 3, 2}}, in.k));
       const ValueId p =
           g.node(Softmax{}, g.node(Scale{std::sqrt(static_cast<double>(d.depth)), true}, scores));
       return g.outputs(g.node(Matmul{}, g.node(Dropout{}, p), in.v));
     }},
    {"multi_head",
     [](Dtype t, const ExampleDims& d) {
       ExampleGraph g(t);
       const Qkv in = qkv(g, d);
       return attend(g, scaled_scores(g, in, d), in);
     }},
    {"no_scale",
     [](Dtype t, const ExampleDims& d) {
       ExampleGraph g(t);
       const Qkv in = qkv(g, d);
       return attend(g, g.node(Matmul{false, true}, in.q, in.k), in);
     }},
    {"no_leading_axes",
     [](Dtype t, const ExampleDims& d) {
       ExampleGraph g(t);
       const ValueId q = g.tensor("q", {d.rows, d.depth}), k = g.tensor("k", {d.cols, d.depth});
       const ValueId v = g.tensor("v", {d.cols, d.width});
       return attend(g, g.node(Scale{0.5}, g.node(Matmul{false, true}, q, k)), {q, k, v});
     }},
    {"keys_shared_by_heads",
     [](Dtype t, const ExampleDims& d) {
       ExampleGraph g(t);
       const ValueId q = g.tensor("q", {d.batch, d.heads, d.rows, d.depth});
       const ValueId k = g.tensor("k", {d.batch, 1, d.cols, d.depth}), v = g.tensor("v", {d.cols, d.width});
       return attend(g, g.node(Scale{0.5}, g.node(Matmul{false, true}, q, k)), {q, k, v});
     }},
    {"scale_on_q",
     [](Dtype t, const ExampleDims& d) {
       ExampleGraph g(t);
       const Qkv in = qkv(g, d);
       const ValueId q = g.node(Scale{0.375}, in.q);
       return attend(g, g.node(Matmul{}, q, g.node(Permute{{0, 1, 3, 2}}, in.k)), in);
     }},
    {"scale_on_q_and_k",
     [](Dtype t, const ExampleDims& d) {
       ExampleGraph g(t);
       const Qkv in = qkv(g, d);
       const ValueId q = g.node(Scale{0.59}, in.q), k = g.node(Scale{1.7, true}, in.k);
       return attend(g, g.node(Matmul{false, true}, q, k), in);
     }},
    {"scaled_transposed_keys",
     [](Dtype t, const ExampleDims& d) {
       ExampleGraph g(t);
       const Qkv in = qkv(g, d);
       const ValueId k = g.node(Permute{{0, 1, 3, 2}}, g.node(Scale{0.59}, in.k));
       return attend(g, g.node(Matmul{}, in.q, k), in);
     }},
    {"divided_by_a_tensor",
     [](Dtype t, const ExampleDims& d) {
       ExampleGraph g(t);
       const Qkv in = qkv(g, d);
       const ValueId divisor = g.tensor("divisor", {1}, Constant{std::sqrt(static_cast<double>(d.depth))});
       return attend(g, g.node(Div{}, g.node(Matmul{false, true}, in.q, in.k), divisor), in);
     }},
    {"multiplied_by_a_tensor",
     [](Dtype t, const ExampleDims& d) {
       ExampleGraph g(t);
       const Qkv in = qkv(g, d);
       const ValueId factor = g.tensor("factor", {}, Constant{0.3});
       return attend(g, g.node(Mul{}, factor, g.node(Matmul{false, true}, in.q, in.k)), in);
     }},
    {"boolean_mask",
     [](Dtype t, const ExampleDims& d) {
       ExampleGraph g(t);
       const Qkv in = qkv(g, d);
       const ValueId hidden = g.mask("hidden", {d.batch, 1, d.rows, d.cols});
       return attend(g, g.node(MaskedFill{kHidden}, scaled_scores(g, in, d), hidden), in);
     }},
    {"boolean_key_mask",
     [](Dtype t, const ExampleDims& d) {
       ExampleGraph g(t);
       const Qkv in = qkv(g, d);
       const ValueId visible = g.mask("visible", {d.batch, 1, 1, d.cols});
       return attend(g, g.node(MaskedFill{kHidden, true}, scaled_scores(g, in, d), visible), in);
     }},
    {"causal_top_left",
     [](Dtype t, const ExampleDims& d) { return causal(t, d, CausalAlignment::top_left); }},
    {"causal_bottom_right",
     [](Dtype t, const ExampleDims& d) { return causal(t, d, CausalAlignment::bottom_right); }},
    {"additive_mask",
     [](Dtype t, const ExampleDims& d) {
       ExampleGraph g(t);
       const Qkv in = qkv(g, d);
       const ValueId mask = g.tensor("mask", {d.batch, 1, d.rows, d.cols});
       return attend(g, g.node(Add{}, scaled_scores(g, in, d), mask), in);
     }},
    {"additive_mask_on_the_left",
     [](Dtype t, const ExampleDims& d) {
       ExampleGraph g(t);
       const Qkv in = qkv(g, d);
       const ValueId mask = g.tensor("mask", {d.heads, 1, d.cols});
       return attend(g, g.node(Add{}, mask, scaled_scores(g, in, d)), in);
     }},
    {"where_visible",
     [](Dtype t, const ExampleDims& d) {
       ExampleGraph g(t);
       const Qkv in = qkv(g, d);
       const ValueId visible = g.mask("visible", {d.rows, d.cols}, 0.75);
       const ValueId filled = g.tensor("filled", {1}, Constant{kHidden});
       return attend(g, g.node(Where{}, visible, scaled_scores(g, in, d), filled), in);
     }},
    {"where_hidden",
     [](Dtype t, const ExampleDims& d) {
       ExampleGraph g(t);
       const Qkv in = qkv(g, d);
       const ValueId hidden = g.mask("hidden", {d.batch, 1, 1, d.cols});
       const ValueId filled = g.tensor("filled", {d.batch, d.heads, d.rows, d.cols}, Constant{kHidden});
       return attend(g, g.node(Where{}, hidden, filled, scaled_scores(g, in, d)), in);
     }},
    {"causal_window",
     [](Dtype t, const ExampleDims& d) { return causal(t, d, CausalAlignment::bottom_right, 3); }},
    {"window_that_shows_the_future",
     [](Dtype t, const ExampleDims& d) { return causal(t, d, CausalAlignment::top_left, 2, true); }},
    {"softcap",
     [](Dtype t, const ExampleDims& d) {
       ExampleGraph g(t);
       const Qkv in = qkv(g, d);
       return attend(g, g.node(Softcap{0.75}, scaled_scores(g, in, d)), in);
     }},
    {"softcap_and_mask",
     [](Dtype t, const ExampleDims& d) {
       ExampleGraph g(t);
       const Qkv in = qkv(g, d);
       const ValueId hidden = g.mask("hidden", {d.rows, d.cols});
       const ValueId capped = g.node(Softcap{2}, g.node(Matmul{false, true}, in.q, in.k));
       return attend(g, g.node(MaskedFill{kHidden}, capped, hidden), in);
     }},
    {"repeated_heads",
     [](Dtype t, const ExampleDims& d) {
       ExampleGraph g(t);
       const Qkv in = grouped_qkv(g, d, 2);
       const Qkv repeated = {in.q, repeat_heads(g, in.k, 2), repeat_heads(g, in.v, 2)};
       return attend(g, scaled_scores(g, repeated, d), repeated);
     }},
    {"repeated_scaled_transposed_heads",
     [](Dtype t, const ExampleDims& d) {
       ExampleGraph g(t);
       const Qkv in = grouped_qkv(g, d, 3);
       const ValueId mask = g.tensor("mask", {d.batch, d.heads * 3, 1, d.cols});
       const ValueId k = g.node(Permute{{0, 1, 3, 2}}, repeat_heads(g, g.node(Scale{0.59}, in.k), 3));
       const ValueId scores = g.node(Add{}, mask, g.node(Matmul{}, in.q, k));
       return attend(g, scores, {in.q, in.k, repeat_heads(g, in.v, 3)});
     }},
    {"repeated_keys_alone",
     [](Dtype t, const ExampleDims& d) {
       ExampleGraph g(t);
       const Qkv in{g.tensor("q", {d.batch, d.heads * 2, d.rows, d.depth}),
                    g.tensor("k", {d.batch, d.heads, d.cols, d.depth}),
                    g.tensor("v", {d.batch, d.heads * 2, d.cols, d.width})};
       const ValueId mask = g.tensor("mask", {d.cols});
       const Qkv repeated = {in.q, repeat_heads(g, in.k, 2), in.v};
       return attend(g, g.node(Add{}, scaled_scores(g, repeated, d), mask), in);
     }},
    {"op", [](Dtype t, const ExampleDims& d) { return composite(t, d, {}); }},
    {"op_causal",
     [](Dtype t, const ExampleDims& d) {
       return composite(t, d, {kOnScores, false, Sdpa::Mask::causal});
     }},
    {"op_causal_bottom_right",
     [](Dtype t, const ExampleDims& d) {
       return composite(t, d, {kBoth, false, Sdpa::Mask::causal, CausalAlignment::bottom_right});
     }},
    {"op_boolean_mask",
     [](Dtype t, const ExampleDims& d) {
       return composite(t, d, {kOnScores, false, Sdpa::Mask::boolean});
     }},
    {"op_additive_mask",
     [](Dtype t, const ExampleDims& d) {
       return composite(t, d, {kOnScores, false, Sdpa::Mask::additive});
     }},
    {"op_scale_on_both", [](Dtype t, const ExampleDims& d) { return composite(t, d, {kBoth}); }},
    {"op_upcast",
     [](Dtype t, const ExampleDims& d) {
       return composite(t, d, {kOnScores, true, Sdpa::Mask::additive});
     }},
    {"op_upcast_scale_on_both",
     [](Dtype t, const ExampleDims& d) {
       return composite(t, d, {kBoth, true, Sdpa::Mask::causal, CausalAlignment::top_left, 0.3});
     }},
    {"op_grouped_heads", [](Dtype t, const ExampleDims& d) { return composite(t, d, with_groups({})); }},
    {"op_grouped_heads_additive_mask",
     [](Dtype t, const ExampleDims& d) {
       return composite(t, d, with_groups({kBoth, true, Sdpa::Mask::additive}));
     }},
    {"op_window",
     [](Dtype t, const ExampleDims& d) {
       return composite(t, d, with_window({kOnScores, false, Sdpa::Mask::causal}, 3));
     }},
    {"op_window_that_shows_the_future",
     [](Dtype t, const ExampleDims& d) {
       return composite(t, d,
                        with_window({kBoth, false, Sdpa::Mask::none, CausalAlignment::bottom_right}, 2));
     }},
    {"op_softcap", [](Dtype t, const ExampleDims& d) { return composite(t, d, with_softcap({}, 0.5)); }},
    {"op_softcap_additive_mask",
     [](Dtype t, const ExampleDims& d) {
       return composite(t, d, with_softcap({kBoth, false, Sdpa::Mask::additive}, 2));
     }},
    {"op_grouped_heads_window_softcap",
     [](Dtype t, const ExampleDims& d) {
       return composite(t, d,
                        with_softcap(with_window(with_groups({kOnScores, true, Sdpa::Mask::causal}), 4), 30));
     }},
};

}  // namespace

std::span<const GraphRecipe> sdpa_examples() { return kSdpaExamples; }

}  // namespace fusesmith::backends

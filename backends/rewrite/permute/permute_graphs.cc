// Examples that permute_folding takes whole, and near misses that it leaves alone.
#include "backends/rewrite/permute/permute_graphs.h"

#include "backends/rewrite/matching/example_graph.h"

namespace fusesmith::backends {
namespace {

// x [cols, rows, depth], seen as [rows, cols, depth], times one matrix for each row.
struct PermutedRows {
  ValueId x, weight;
};
PermutedRows permuted_rows(ExampleGraph& g, const ExampleDims& d) {
  const ValueId x = g.tensor("x", {d.cols, d.rows, d.depth});
  return {x, g.tensor("weight", {d.rows, d.depth, d.width})};
}

constexpr GraphRecipe kPermuteGraphsExamples[] = {
    {"transposed_operand",
     [](Dtype t, const ExampleDims& d) {
       ExampleGraph g(t);
       const ValueId x = g.tensor("x", {d.batch, d.rows, d.depth}),
                     y = g.tensor("y", {d.batch, d.cols, d.depth});
       return g.outputs(g.node(Matmul{}, x, g.node(Permute{{0, 2, 1}}, y)));
     }},
    {"square_transposed_operand",
     [](Dtype t, const ExampleDims& d) {
       ExampleGraph g(t);
       const ValueId x = g.tensor("x", {d.rows, d.rows}), y = g.tensor("y", {d.rows, d.cols});
       return g.outputs(g.node(Matmul{}, g.node(Permute{{1, 0}}, x), y));
     }},
    {"heads_out_of_place",
     [](Dtype t, const ExampleDims& d) {
       ExampleGraph g(t);
       const ValueId q = g.tensor("q", {d.batch, d.rows, d.heads, d.depth});
       const ValueId k = g.tensor("k", {d.batch, d.cols, d.heads, d.depth});
       return g.outputs(g.node(Matmul{}, g.node(Permute{{0, 2, 1, 3}}, q), g.node(Permute{{0, 2, 3, 1}}, k)));
     }},
    {"heads_before_batch",
     [](Dtype t, const ExampleDims& d) {
       ExampleGraph g(t);
       const ValueId q = g.tensor("q", {d.heads, d.batch, d.rows, d.depth});
       const ValueId k = g.tensor("k", {d.batch, d.heads, d.cols, d.depth});
       return g.outputs(g.node(Matmul{false, true}, g.node(Permute{{1, 0, 2, 3}}, q), k));
     }},
    {"axes_in_a_circle",
     [](Dtype t, const ExampleDims& d) {
       ExampleGraph g(t);
       const ValueId x = g.tensor("x", {d.rows, d.rows, d.rows}), y = g.tensor("y", {d.rows, d.rows, d.cols});
       return g.outputs(g.node(Matmul{}, g.node(Permute{{2, 0, 1}}, x), y));
     }},
    {"linear_into_heads",
     [](Dtype t, const ExampleDims& d) {
       ExampleGraph g(t);
       const ValueId x = g.tensor("x", {d.batch, d.rows, d.width});
       const ValueId weight = g.tensor("weight", {d.heads * d.depth, d.width});
       const ValueId bias = g.tensor("bias", {d.heads * d.depth});
       const ValueId y = g.node(Linear{}, x, weight, bias);
       const ValueId heads = g.node(Reshape{{d.batch, d.rows, d.heads, d.depth}}, y);
       return g.outputs(g.node(Permute{{0, 2, 1, 3}}, heads));
     }},
    {"heads_merged_into_linear",
     [](Dtype t, const ExampleDims& d) {
       ExampleGraph g(t);
       const ValueId x = g.tensor("x", {d.batch, d.heads, d.rows, d.depth});
       const ValueId weight = g.tensor("weight", {d.cols, d.heads * d.depth});
       const ValueId rows = g.node(Permute{{0, 2, 1, 3}}, x);
       return g.outputs(
           g.node(Linear{}, g.node(Reshape{{d.batch, d.rows, d.heads * d.depth}}, rows), weight));
     }},
    {"repeated_key_heads",
     [](Dtype t, const ExampleDims& d) {
       ExampleGraph g(t);
       const ValueId q = g.tensor("q", {d.batch, 2 * d.heads, d.rows, d.depth});
       const ValueId k = g.tensor("k", {d.batch, d.cols, d.heads, d.depth});
       const ValueId one = g.node(Unsqueeze{2}, g.node(Permute{{0, 2, 1, 3}}, k));
       const ValueId two = g.node(BroadcastTo{{d.batch, d.heads, 2, d.cols, d.depth}}, one);
       const ValueId all = g.node(Reshape{{d.batch, 2 * d.heads, d.cols, d.depth}}, two);
       return g.outputs(g.node(Matmul{false, true}, q, all));
     }},
    {"einsum_of_permuted",
     [](Dtype t, const ExampleDims& d) {
       ExampleGraph g(t);
       const ValueId x = g.tensor("x", {d.depth, d.batch, d.rows}),
                     w = g.tensor("w", {d.batch, d.depth, d.cols});
       return g.outputs(g.node(Einsum{"bid,bdh->bih"}, g.node(Permute{{1, 2, 0}}, x), w));
     }},
    {"product_transposed",
     [](Dtype t, const ExampleDims& d) {
       ExampleGraph g(t);
       const ValueId x = g.tensor("x", {d.rows, d.depth}), w = g.tensor("w", {d.depth, d.rows});
       return g.outputs(g.node(Permute{{1, 0}}, g.node(Matmul{}, x, w)));
     }},
    {"permuted_activation",
     [](Dtype t, const ExampleDims& d) {
       ExampleGraph g(t);
       return g.outputs(g.node(Gelu{}, g.node(Permute{{2, 0, 1}}, g.tensor("x", {d.rows, d.rows, d.depth}))));
     }},
    {"permuted_addend",
     [](Dtype t, const ExampleDims& d) {
       ExampleGraph g(t);
       const ValueId x = g.tensor("x", {d.batch, d.heads, d.rows, d.depth});
       const ValueId y = g.tensor("y", {d.batch, d.rows, d.heads * d.depth});
       const ValueId merged =
           g.node(Reshape{{d.batch, d.rows, d.heads * d.depth}}, g.node(Permute{{0, 2, 1, 3}}, x));
       return g.outputs(g.node(Add{}, y, merged));
     }},
    {"permuted_bias_per_head",
     [](Dtype t, const ExampleDims& d) {
       ExampleGraph g(t);
       const ValueId scores = g.tensor("scores", {d.batch, d.heads, d.rows, d.cols});
       const ValueId bias = g.tensor("bias", {d.rows, d.cols, d.heads});
       return g.outputs(g.node(Add{}, scores, g.node(Permute{{2, 0, 1}}, bias)));
     }},
    {"permute_of_a_permute",
     [](Dtype t, const ExampleDims& d) {
       ExampleGraph g(t);
       const ValueId x = g.tensor("x", {d.batch, d.rows, d.heads, d.depth});
       return g.outputs(g.node(Permute{{0, 1, 3, 2}}, g.node(Permute{{0, 2, 1, 3}}, x)));
     }},
};

constexpr GraphRecipe kPermuteGraphsNearMisses[] = {
    {"permuted_value_read_elsewhere",
     [](Dtype t, const ExampleDims& d) {
       ExampleGraph g(t);
       const auto [x, weight] = permuted_rows(g, d);
       const ValueId y = g.node(Permute{{1, 0, 2}}, x);
       return g.outputs(g.node(Matmul{}, y, weight), g.node(Relu{}, y));
     }},
    {"permuted_value_is_an_output",
     [](Dtype t, const ExampleDims& d) {
       ExampleGraph g(t);
       const auto [x, weight] = permuted_rows(g, d);
       const ValueId y = g.node(Permute{{1, 0, 2}}, x);
       return g.outputs(g.node(Matmul{}, y, weight), y);
     }},
    {"product_read_beside_its_permute",
     [](Dtype t, const ExampleDims& d) {
       ExampleGraph g(t);
       const ValueId x = g.tensor("x", {d.rows, d.depth}), w = g.tensor("w", {d.depth, d.cols});
       const ValueId y = g.node(Matmul{}, x, w);
       return g.outputs(g.node(Permute{{1, 0}}, y), g.node(Relu{}, y));
     }},
    {"squared",
     [](Dtype t, const ExampleDims& d) {
       ExampleGraph g(t);
       const ValueId y = g.node(Permute{{1, 0}}, g.tensor("x", {d.rows, d.rows}));
       return g.outputs(g.node(Matmul{}, y, y));
     }},
    {"first_permute_read_elsewhere",
     [](Dtype t, const ExampleDims& d) {
       ExampleGraph g(t);
       const ValueId y = g.node(Permute{{1, 0, 2}}, g.tensor("x", {d.batch, d.rows, d.depth}));
       return g.outputs(g.node(Permute{{0, 2, 1}}, y), g.node(Relu{}, y));
     }},
    {"matrices_cut_across_a_permute",
     [](Dtype t, const ExampleDims& d) {
       ExampleGraph g(t);
       const ValueId x = g.tensor("x", {2, 3, d.depth}), weight = g.tensor("weight", {2, d.depth, d.cols});
       const ValueId y = g.node(Reshape{{2, 3, d.depth}}, g.node(Permute{{1, 0, 2}}, x));
       return g.outputs(g.node(Matmul{}, y, weight));
     }},
    {"softmaxed_in_between",
     [](Dtype t, const ExampleDims& d) {
       ExampleGraph g(t);
       const auto [x, weight] = permuted_rows(g, d);
       return g.outputs(g.node(Matmul{}, g.node(Softmax{}, g.node(Permute{{1, 0, 2}}, x)), weight));
     },
     kUnrecognised},
    {"permutes_that_cut_unlike",
     [](Dtype t, const ExampleDims& d) {
       ExampleGraph g(t);
       const ValueId x = g.tensor("x", {2, 3, d.depth}), y = g.tensor("y", {3, 2, d.depth});
       const ValueId left = g.node(Reshape{{6, d.depth}}, g.node(Permute{{1, 0, 2}}, x));
       const ValueId right = g.node(Reshape{{6, d.depth}}, g.node(Permute{{1, 0, 2}}, y));
       return g.outputs(g.node(Sub{}, left, right));
     }},
    {"inside_a_chain",
     [](Dtype t, const ExampleDims& d) {
       ExampleGraph g(t);
       const ValueId x = g.tensor("x", {d.cols, d.rows}), y = g.tensor("y", {d.rows, d.cols});
       return g.outputs(g.node(Mul{}, g.node(Tanh{}, g.node(Permute{{1, 0}}, x)), y));
     }},
    {"pointwise_operand_read_elsewhere",
     [](Dtype t, const ExampleDims& d) {
       ExampleGraph g(t);
       const ValueId y = g.node(Permute{{1, 0}}, g.tensor("x", {d.cols, d.rows}));
       return g.outputs(g.node(Gelu{}, y), y);
     }},
    {"slice_in_between",
     [](Dtype t, const ExampleDims& d) {
       ExampleGraph g(t);
       const ValueId x = g.tensor("x", {d.cols, d.rows + 1, d.depth});
       const ValueId weight = g.tensor("weight", {d.rows, d.depth, d.width});
       const ValueId y = g.node(Slice{0, 1, d.rows + 1}, g.node(Permute{{1, 0, 2}}, x));
       return g.outputs(g.node(Matmul{}, y, weight));
     },
     kUnrecognised},
    {"reshape_alone",
     [](Dtype t, const ExampleDims& d) {
       ExampleGraph g(t);
       const ValueId x = g.tensor("x", {d.batch * d.rows, d.depth});
       const ValueId weight = g.tensor("weight", {d.batch, d.depth, d.cols});
       return g.outputs(g.node(Matmul{}, g.node(Reshape{{d.batch, d.rows, d.depth}}, x), weight));
     },
     kUnrecognised},
};

}  // namespace

std::span<const GraphRecipe> permute_folding_examples() { return kPermuteGraphsExamples; }
std::span<const GraphRecipe> permute_folding_near_misses() { return kPermuteGraphsNearMisses; }

}  // namespace fusesmith::backends

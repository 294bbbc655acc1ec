// merged_qkv: products of one value with several weights, as q, k and v projections or the two of a gated
// feed-forward layer, run as one product over all the weights' columns. Each part is an output, rounded where
// the graph says; only the order of a sum may change.
//
// Comes after gemm_bias_act: a product with an addition or an activation of its own keeps that epilogue.
// Comes before permute_folding: heads that are split off behind the products are permuted apart. An einsum is
// left to einsum_to_gemm.
#include <algorithm>

#include "backends/rewrite/matching/example_graph.h"
#include "backends/rewrite/matching/product.h"
#include "backends/rewrite/patterns.h"

namespace fusesmith::backends {
namespace {

constexpr std::string_view kBatched = "batched_weight";
constexpr std::string_view kReadDifferently = "x_read_differently";
constexpr std::string_view kLaidDifferently = "weights_laid_differently";
constexpr std::string_view kDependent = "dependent_products";
constexpr std::string_view kMergedQkvGuards[] = {kBatched, kReadDifferently, kLaidDifferently, kDependent};

bool is_product(const Op& op) {
  return std::holds_alternative<Linear>(op) || std::holds_alternative<Matmul>(op);
}

bool weight_transposed(const Op& op) {
  const auto* matmul = std::get_if<Matmul>(&op);
  return !matmul || matmul->transpose_b;
}

bool same_steps_of_a(const std::vector<ProductAxis>& one, const std::vector<ProductAxis>& other) {
  return std::equal(
      one.begin(), one.end(), other.begin(), other.end(),
      [](const ProductAxis& x, const ProductAxis& y) { return x.size == y.size && x.a == y.a; });
}

bool reads(const MatchContext& context, int reader, int n) {
  const auto& inputs = context.node(reader).inputs;
  return std::find(inputs.begin(), inputs.end(), context.output(n)) != inputs.end();
}

bool independent(const MatchContext& context, std::vector<int> nodes, int other) {
  for (int n : nodes) {
    if (reads(context, n, other) || reads(context, other, n)) return false;
  }
  nodes.push_back(other);
  return context.can_run_together(nodes);
}

// Which guard keeps another product of the same value out; empty: none.
std::string_view obstacle(const MatchContext& context, const std::vector<int>& nodes, int other) {
  const Node &first = context.node(nodes.front()), &added = context.node(other);
  const BatchedProduct a = *gemm_product(context.graph(), first), b = *gemm_product(context.graph(), added);
  if (!a.batch.empty() || !b.batch.empty()) return kBatched;
  if (!same_steps_of_a(a.m, b.m) || !same_steps_of_a(a.k, b.k)) return kReadDifferently;
  if (weight_transposed(first.op) != weight_transposed(added.op)) return kLaidDifferently;
  return independent(context, nodes, other) ? std::string_view() : kDependent;
}

// Mistakes that the last two parts can show, as k and v do.
void plant_merged_qkv_mistakes(const Faults& faults, std::vector<MergedProduct::Part>& parts) {
  MergedProduct::Part &k = parts[parts.size() - 2], &v = parts.back();
  const bool same_size = k.columns == v.columns;
  if (faults.has("merged_weights_swapped") && same_size) std::swap(k.weight, v.weight);
  if (faults.has("merged_bias_of_another") && same_size && k.bias && v.bias) std::swap(*k.bias, *v.bias);
  constexpr int64_t kTile = 16;
  if (faults.has("merged_offset_in_whole_tiles")) v.first -= v.first % kTile;
  const int64_t end = v.first + v.columns;
  for (size_t i = 0; faults.has("merged_parts_of_equal_size") && i < parts.size(); ++i) {
    const int64_t assumed = static_cast<int64_t>(i) * parts[0].columns;
    parts[i].first = std::min(assumed, end - parts[i].columns);
  }
}

MergedProduct merge(const MatchContext& context, const std::vector<int>& nodes) {
  const Node& first = context.node(nodes.front());
  const BatchedProduct product = *gemm_product(context.graph(), first);
  MergedProduct merged{first.inputs[0], product.m, product.k, weight_transposed(first.op), {}};
  int64_t columns = 0;
  for (int n : nodes) {
    const Node& node = context.node(n);
    MergedProduct::Part part{node.inputs[1], {}, context.shape(node.first_output).back(), columns};
    if (node.inputs.size() > 2) part.bias = node.inputs[2];
    columns += part.columns;
    merged.parts.push_back(part);
  }
  plant_merged_qkv_mistakes(context.faults(), merged.parts);
  return merged;
}

std::optional<Match> match_merged_qkv(const MatchContext& context, int n) {
  const auto candidate = [&](int other) {
    return context.is_free(other) && is_product(context.node(other).op) &&
           context.node(other).inputs[0] == context.node(n).inputs[0];
  };
  if (!is_product(context.node(n).op)) return std::nullopt;
  const auto& readers = context.consumers(context.node(n).inputs[0]);
  std::vector<int> nodes{n};
  for (auto other = readers.rbegin(); other != readers.rend(); ++other) {
    const bool known = std::find(nodes.begin(), nodes.end(), *other) != nodes.end();
    if (known || !candidate(*other)) continue;
    const std::string_view guard = obstacle(context, nodes, *other);
    if (guard.empty())
      nodes.push_back(*other);
    else
      context.refuse(guard);
  }
  if (nodes.size() < 2) return std::nullopt;
  std::sort(nodes.begin(), nodes.end());
  MergedProduct merged = merge(context, nodes);
  return Match{std::move(nodes), {"merged_qkv"}, {}, std::move(merged)};
}

// x [batch, rows, depth], and a weight and a bias of a linear layer from depth to so many columns.
ValueId activations(ExampleGraph& g, const ExampleDims& d) {
  return g.tensor("x", {d.batch, d.rows, d.depth});
}

ValueId weight(ExampleGraph& g, const std::string& name, const ExampleDims& d, int64_t columns) {
  return g.tensor(name + "_weight", {columns, d.depth});
}

ValueId bias(ExampleGraph& g, const std::string& name, int64_t columns) {
  return g.tensor(name + "_bias", {columns});
}

constexpr GraphRecipe kMergedQkvExamples[] = {
    {"q_k_v",
     [](Dtype t, const ExampleDims& d) {
       ExampleGraph g(t);
       const ValueId x = activations(g, d);
       ValueId w[3], b[3];
       for (int i = 0; i < 3; ++i) {
         const std::string name(1, "qkv"[i]);
         w[i] = weight(g, name, d, d.cols);
         b[i] = bias(g, name, d.cols);
       }
       const ValueId q = g.node(Linear{}, x, w[0], b[0]), k = g.node(Linear{}, x, w[1], b[1]);
       return g.outputs(q, k, g.node(Linear{}, x, w[2], b[2]));
     }},
    {"grouped_query_without_k_bias",
     [](Dtype t, const ExampleDims& d) {
       ExampleGraph g(t);
       const ValueId x = activations(g, d);
       const ValueId wq = weight(g, "q", d, d.heads * d.width), wk = weight(g, "k", d, d.width),
                     wv = weight(g, "v", d, d.width);
       const ValueId bq = bias(g, "q", d.heads * d.width), bv = bias(g, "v", d.width);
       const ValueId q = g.node(Linear{}, x, wq, bq), k = g.node(Linear{}, x, wk);
       return g.outputs(q, k, g.node(Linear{}, x, wv, bv));
     }},
    {"each_of_its_own_size",
     [](Dtype t, const ExampleDims& d) {
       ExampleGraph g(t);
       const ValueId x = activations(g, d);
       const ValueId wq = weight(g, "q", d, d.width), wk = weight(g, "k", d, d.heads * d.width),
                     wv = weight(g, "v", d, d.cols);
       const ValueId q = g.node(Linear{}, x, wq), k = g.node(Linear{}, x, wk);
       return g.outputs(q, k, g.node(Linear{}, x, wv));
     }},
    {"gate_and_up",
     [](Dtype t, const ExampleDims& d) {
       ExampleGraph g(t);
       const ValueId x = activations(g, d);
       const ValueId gate = g.tensor("gate", {d.depth, d.cols}), up = g.tensor("up", {d.depth, d.cols});
       return g.outputs(g.node(Matmul{}, x, gate), g.node(Matmul{}, x, up));
     }},
    {"transposed_x",
     [](Dtype t, const ExampleDims& d) {
       ExampleGraph g(t);
       const ValueId x = g.tensor("x", {d.batch, d.depth, d.rows});
       const ValueId a = g.tensor("a", {d.cols, d.depth}), b = g.tensor("b", {d.width, d.depth});
       return g.outputs(g.node(Matmul{true, true}, x, a), g.node(Matmul{true, true}, x, b));
     }},
    {"one_row",
     [](Dtype t, const ExampleDims& d) {
       ExampleGraph g(t);
       const ValueId x = g.tensor("x", {d.depth});
       const ValueId wa = weight(g, "a", d, d.cols), wb = weight(g, "b", d, d.width),
                     ba = bias(g, "a", d.cols);
       return g.outputs(g.node(Linear{}, x, wa, ba), g.node(Linear{}, x, wb));
     }},
};

constexpr GraphRecipe kMergedQkvNearMisses[] = {
    {"two_inputs",
     [](Dtype t, const ExampleDims& d) {
       ExampleGraph g(t);
       const ValueId x = activations(g, d), y = g.tensor("y", {d.batch, d.rows, d.depth});
       const ValueId w = weight(g, "both", d, d.cols);
       return g.outputs(g.node(Linear{}, x, w), g.node(Linear{}, y, w));
     },
     kUnrecognised},
    {"weights_of_each_batch",
     [](Dtype t, const ExampleDims& d) {
       ExampleGraph g(t);
       const int64_t batch = std::max<int64_t>(2, d.batch);
       const ValueId x = g.tensor("x", {batch, d.rows, d.depth});
       const ValueId a = g.tensor("a", {batch, d.depth, d.cols}), b = g.tensor("b", {batch, d.depth, d.cols});
       return g.outputs(g.node(Matmul{}, x, a), g.node(Matmul{}, x, b));
     }},
    {"x_and_its_transpose",
     [](Dtype t, const ExampleDims& d) {
       ExampleGraph g(t);
       const int64_t size = std::max<int64_t>(2, d.depth);
       const ValueId x = g.tensor("x", {size, size});
       const ValueId a = g.tensor("a", {size, d.cols}), b = g.tensor("b", {size, d.cols});
       return g.outputs(g.node(Matmul{}, x, a), g.node(Matmul{true}, x, b));
     }},
    {"linear_and_matmul",
     [](Dtype t, const ExampleDims& d) {
       ExampleGraph g(t);
       const ValueId x = activations(g, d);
       const ValueId a = weight(g, "a", d, d.cols), b = g.tensor("b", {d.depth, d.cols});
       return g.outputs(g.node(Linear{}, x, a), g.node(Matmul{}, x, b));
     }},
    {"weight_made_of_the_first",
     [](Dtype t, const ExampleDims& d) {
       ExampleGraph g(t);
       const ValueId x = g.tensor("x", {d.depth, d.depth}), w = g.tensor("w", {d.depth, d.cols});
       return g.outputs(g.node(Matmul{}, x, g.node(Matmul{}, x, w)));
     }},
    {"bias_made_of_the_first",
     [](Dtype t, const ExampleDims& d) {
       ExampleGraph g(t);
       const ValueId x = g.tensor("x", {d.depth});
       const ValueId a = weight(g, "a", d, d.cols), b = weight(g, "b", d, d.cols);
       const ValueId halved = g.node(Scale{0.5}, g.node(Linear{}, x, a));
       return g.outputs(g.node(Linear{}, x, b, halved));
     }},
    {"each_with_an_activation",
     [](Dtype t, const ExampleDims& d) {
       ExampleGraph g(t);
       const ValueId x = activations(g, d);
       const ValueId a = weight(g, "a", d, d.cols), b = weight(g, "b", d, d.cols);
       return g.outputs(g.node(Silu{}, g.node(Linear{}, x, a)), g.node(Silu{}, g.node(Linear{}, x, b)));
     },
     kUnrecognised},
    {"one_product",
     [](Dtype t, const ExampleDims& d) {
       ExampleGraph g(t);
       const ValueId x = activations(g, d), w = weight(g, "w", d, d.cols);
       return g.outputs(g.node(Linear{}, x, w));
     },
     kUnrecognised},
};

}  // namespace

Pattern merged_qkv_pattern() {
  return {"merged_qkv",
          "several linear or matmul products of one value, without epilogues -> one product over all columns",
          match_merged_qkv,
          kMergedQkvExamples,
          kMergedQkvNearMisses,
          kMergedQkvGuards};
}

}  // namespace fusesmith::backends

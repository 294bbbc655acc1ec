// einsum_to_gemm: an einsum whose letters fall into batch, m, n and k runs as one batched matrix product.
// Nothing is rounded elsewhere, so the contract is the strict one.
#include <algorithm>

#include "backends/rewrite/matching/example_graph.h"
#include "backends/rewrite/matching/product.h"
#include "backends/rewrite/patterns.h"

namespace fusesmith::backends {
namespace {

constexpr std::string_view kEinsumToGemmGuards[] = {
    "missing_axis",   // of m, n and k
    "one_sided_sum",  // a letter is summed over one operand alone
};

// Injected faults: mistakes in the strides of an operand.
void plant_einsum_to_gemm_mistakes(BatchedProduct& product, const Faults& faults) {
  for (ProductAxis& axis : product.batch) {
    if (faults.has("batched_weight_index_dropped")) axis.b = 0;
    if (faults.has("batch_stride_of_left_for_right") && axis.b > 0) axis.b = std::min(axis.a, axis.b);
  }
  const bool square =
      product.m.size() == 1 && product.n.size() == 1 && product.m[0].size == product.n[0].size;
  if (faults.has("einsum_output_order_ignored") && square && product.n[0].out != 1)
    std::swap(product.m[0].out, product.n[0].out);
}

std::optional<Match> match_einsum_to_gemm(const MatchContext& context, int n) {
  if (!context.op_as<Einsum>(n)) return std::nullopt;
  auto product = gemm_product(context.graph(), context.node(n));
  if (!product) {
    const bool missing = multiply_reduce(context.graph(), context.node(n)).has_value();
    return context.refuse(missing ? "missing_axis" : "one_sided_sum");
  }
  plant_einsum_to_gemm_mistakes(*product, context.faults());
  return Match{{n}, {"einsum_to_gemm"}, {}, FusedGemm{std::move(*product), {}, {}, {}}};
}

Graph einsum_graph(Dtype dtype, const char* equation, Shape a, Shape b) {
  ExampleGraph g(dtype);
  const ValueId x = g.tensor("x", std::move(a)), w = g.tensor("w", std::move(b));
  return g.outputs(g.node(Einsum{equation}, x, w));
}

constexpr GraphRecipe kEinsumToGemmExamples[] = {
    {"batched_weights",
     [](Dtype t, const ExampleDims& d) {
       return einsum_graph(t, "bid,bdh->bih", {d.batch, d.rows, d.depth}, {d.batch, d.depth, d.cols});
     }},
    {"one_weight",
     [](Dtype t, const ExampleDims& d) {
       return einsum_graph(t, "bid,dh->bih", {d.batch, d.rows, d.depth}, {d.depth, d.cols});
     }},
    {"transposed_output",
     [](Dtype t, const ExampleDims& d) {
       return einsum_graph(t, "bid,bdh->hbi", {d.batch, d.rows, d.depth}, {d.batch, d.depth, d.cols});
     }},
    {"heads_out_of_place",
     [](Dtype t, const ExampleDims& d) {
       return einsum_graph(t, "bqhd,bkhd->bhqk", {d.batch, d.rows, d.heads, d.depth},
                           {d.batch, d.cols, d.heads, d.depth});
     }},
    {"two_summed_letters",
     [](Dtype t, const ExampleDims& d) {
       return einsum_graph(t, "bthd,hdo->bto", {d.batch, d.rows, d.heads, d.depth},
                           {d.heads, d.depth, d.cols});
     }},
    {"triangle",
     [](Dtype t, const ExampleDims& d) {
       return einsum_graph(t, "bikd,bjkd->bijd", {d.batch, d.rows, d.depth, d.heads},
                           {d.batch, d.cols, d.depth, d.heads});
     }},
};

constexpr GraphRecipe kEinsumToGemmNearMisses[] = {
    {"no_rows",
     [](Dtype t, const ExampleDims& d) {
       return einsum_graph(t, "d,dh->h", {d.depth}, {d.depth, d.cols});
     }},
    {"no_columns",
     [](Dtype t, const ExampleDims& d) {
       return einsum_graph(t, "bid,bd->bi", {d.batch, d.rows, d.depth}, {d.batch, d.depth});
     }},
    {"nothing_summed",
     [](Dtype t, const ExampleDims& d) {
       return einsum_graph(t, "bi,bj->bij", {d.batch, d.rows}, {d.batch, d.cols});
     }},
    {"summed_over_one_operand",
     [](Dtype t, const ExampleDims& d) {
       return einsum_graph(t, "id,dhw->ih", {d.rows, d.depth}, {d.depth, d.cols, d.width});
     }},
};

}  // namespace

Pattern einsum_to_gemm_pattern() {
  return {"einsum_to_gemm",        "einsum that is a matrix product -> one batched matrix product",
          match_einsum_to_gemm,    kEinsumToGemmExamples,
          kEinsumToGemmNearMisses, kEinsumToGemmGuards};
}

}  // namespace fusesmith::backends

// einsum_to_pointwise: an einsum without rows, columns or summed letters is no matrix product; it runs as a
// multiplication and, where letters are summed, a reduction in f32. One rounding at the end, as the graph
// says.
#include "backends/rewrite/matching/example_graph.h"
#include "backends/rewrite/matching/product.h"
#include "backends/rewrite/patterns.h"

namespace fusesmith::backends {
namespace {

constexpr std::string_view kEinsumToPointwiseGuards[] = {
    "matrix_axes",  // m, n and k each have a letter
};

std::optional<Match> match_einsum_to_pointwise(const MatchContext& context, int n) {
  if (!context.op_as<Einsum>(n)) return std::nullopt;
  auto reduction = multiply_reduce(context.graph(), context.node(n));
  if (!reduction) return context.refuse("matrix_axes");
  return Match{{n}, {"einsum_to_pointwise"}, {}, std::move(*reduction)};
}

Graph pointwise_graph(Dtype dtype, const char* equation, Shape a, Shape b) {
  ExampleGraph g(dtype);
  const ValueId x = g.tensor("x", std::move(a)), y = g.tensor("y", std::move(b));
  return g.outputs(g.node(Einsum{equation}, x, y));
}

constexpr GraphRecipe kEinsumToPointwiseExamples[] = {
    {"batched_dot",
     [](Dtype t, const ExampleDims& d) {
       return pointwise_graph(t, "bid,bid->bi", {d.batch, d.rows, d.depth}, {d.batch, d.rows, d.depth});
     }},
    {"matrix_times_vector",
     [](Dtype t, const ExampleDims& d) {
       return pointwise_graph(t, "bid,bd->bi", {d.batch, d.rows, d.depth}, {d.batch, d.depth});
     }},
    {"outer_product",
     [](Dtype t, const ExampleDims& d) {
       return pointwise_graph(t, "bi,bj->bij", {d.batch, d.rows}, {d.batch, d.cols});
     }},
    {"elementwise_transposed",
     [](Dtype t, const ExampleDims& d) {
       return pointwise_graph(t, "ij,ji->ij", {d.rows, d.cols}, {d.cols, d.rows});
     }},
    {"full_contraction",
     [](Dtype t, const ExampleDims& d) {
       return pointwise_graph(t, "ij,ij->", {d.rows, d.depth}, {d.rows, d.depth});
     }},
    {"diagonal",
     [](Dtype t, const ExampleDims& d) {
       return pointwise_graph(t, "iid,d->i", {d.rows, d.rows, d.depth}, {d.depth});
     }},
};

constexpr GraphRecipe kEinsumToPointwiseNearMisses[] = {
    {"matrix_product",
     [](Dtype t, const ExampleDims& d) {
       return pointwise_graph(t, "id,dh->ih", {d.rows, d.depth}, {d.depth, d.cols});
     },
     kUnrecognised},
    {"summed_over_one_operand",
     [](Dtype t, const ExampleDims& d) {
       return pointwise_graph(t, "id,dhw->ih", {d.rows, d.depth}, {d.depth, d.cols, d.width});
     }},
};

}  // namespace

Pattern einsum_to_pointwise_pattern() {
  return {"einsum_to_pointwise",        "einsum that is not a matrix product -> multiply, then reduce",
          match_einsum_to_pointwise,    kEinsumToPointwiseExamples,
          kEinsumToPointwiseNearMisses, kEinsumToPointwiseGuards};
}

}  // namespace fusesmith::backends

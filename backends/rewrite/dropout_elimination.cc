// dropout_elimination: dropout with p = 0 is its input.
#include "backends/rewrite/matching/example_graph.h"
#include "backends/rewrite/patterns.h"

namespace fusesmith::backends {
namespace {

std::optional<Match> match_dropout_elimination(const MatchContext& context, int n) {
  if (!context.op_as<Dropout>(n)) return std::nullopt;
  return Match{{n}, {"dropout_elimination"}, {}, Identity{context.node(n).inputs[0]}};
}

constexpr GraphRecipe kDropoutEliminationExamples[] = {
    {"dropout",
     [](Dtype t, const ExampleDims& d) {
       ExampleGraph g(t);
       return g.outputs(g.node(Dropout{}, g.tensor("x", {d.batch, d.rows, d.cols})));
     }},
};

constexpr GraphRecipe kDropoutEliminationNearMisses[] = {
    {"reshape_to_the_same_shape",
     [](Dtype t, const ExampleDims& d) {
       ExampleGraph g(t);
       return g.outputs(g.node(Reshape{{d.rows, d.cols}}, g.tensor("x", {d.rows, d.cols})));
     },
     kUnrecognised},
    {"scale_by_one",
     [](Dtype t, const ExampleDims& d) {
       ExampleGraph g(t);
       return g.outputs(g.node(Scale{1}, g.tensor("x", {d.rows, d.cols})));
     },
     kUnrecognised},
};

}  // namespace

Pattern dropout_elimination_pattern() {
  return {"dropout_elimination", "dropout with p = 0 -> its input", match_dropout_elimination,
          kDropoutEliminationExamples, kDropoutEliminationNearMisses};
}

}  // namespace fusesmith::backends

// dropout_elimination: dropout with p = 0 is its input.
#include "backends/rewrite/matching/example_graph.h"
#include "backends/rewrite/patterns.h"

namespace fusesmith::backends {
namespace {

std::optional<Match> match(const MatchContext& context, int n) {
  if (!context.op_as<Dropout>(n)) return std::nullopt;
  return Match{{n}, {"dropout_elimination"}, {}, Identity{context.node(n).inputs[0]}};
}

constexpr GraphRecipe kExamples[] = {
    {"dropout",
     [](Dtype t, const ExampleDims& d) {
       ExampleGraph g(t);
       return g.outputs(g.node(Dropout{}, g.tensor("x", {d.batch, d.rows, d.cols})));
     }},
};

constexpr GraphRecipe kNearMisses[] = {
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
  return {"dropout_elimination", "dropout with p = 0 -> its input", match, kExamples, kNearMisses};
}

}  // namespace fusesmith::backends

// Gradients by reverse accumulation, as nodes of a graph: what a backward pass computes, of any op that a
// formula defines and of graphs. There is one rule for each op that formulas consist of.
#pragma once

#include "graph/formula.h"

namespace fusesmith::graph {

// For each of `of`, the gradient of the sum over all outputs and elements of output * output_gradient: nodes
// are added to the builder of these values, which are f32. `output_gradients` are one for each output, with
// its shape. What an output does not depend on has the gradient 0. Where a function has no derivative: relu
// and maximum(x, number) have 0, maximum(a, b) gives all to b, and equal maxima of a reduction share equally.
// The problem names an op without a rule (gather) or with attributes that have none.
Result<Vars> gradients(const Vars& outputs, const Vars& output_gradients, const Vars& of);

// The graph of a backward pass: the inputs of `graph`, then one input "d_<name>" for each output, and as
// outputs the gradients of the float inputs, in order. Problems: states, other float dtypes than f32, and
// those of gradients().
Result<Graph> gradient_graph(const Graph& graph);

}  // namespace fusesmith::graph

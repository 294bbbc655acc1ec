// The rules of reverse accumulation, one for each op that is not composite.
#pragma once

#include <optional>

#include "graph/formula_nodes.h"

namespace fusesmith::graph {

// A node of a forward pass, and the gradients of its outputs.
struct ForwardNode {
  Vars in;
  Vars out;
  Vars gradient;  // one for each output, with its shape

  Var dy() const { return gradient[0]; }
};

// By input; none for inputs that are not float.
using InputGradients = std::vector<std::optional<Var>>;

// The gradients of the inputs of a node of this op, with the shapes of the inputs.
Result<InputGradients> input_gradients(const Op& op, const ForwardNode& node);

// What the rules are written with.
namespace gradient_parts {

Var zeros(Builder& builder, const Shape& shape);
Var broadcast_to(Var x, const Shape& shape);
Var reshape(Var x, const Shape& shape);
// The sums over the axes along which a value of this shape was broadcast to that of x.
Var sum_to(Var x, const Shape& shape);
Var sum_over(Var x, const Shape& axes);  // the axes stay, with size 1
// 1 where x > 0, otherwise 0.
Var step(Var x);

}  // namespace gradient_parts

}  // namespace fusesmith::graph

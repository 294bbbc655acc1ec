// Formulas without reductions and movement, whose value for one element depends on the operands' elements at
// the same place alone: kernels evaluate them in one loop, and fused chains contain them.
#pragma once

#include <optional>
#include <vector>

#include "graph/op.h"
#include "graph/tensor.h"

namespace fusesmith::graph {

// One op of class pointwise or select, evaluated in f32 for one element.
struct PointwiseStep {
  Op op;
  Dtype dtype = Dtype::f32;    // of its value in the graph
  std::vector<int> arguments;  // i >= 0: the value of step i; i < 0: operand -1 - i
};

// The last step is the result, which is rounded to the op's dtype where it is stored. A Scale without
// arguments is a constant: its factor.
struct PointwiseFormula {
  std::vector<PointwiseStep> steps;
};

// Empty if no formula defines the op, or one with other ops or several outputs.
std::optional<PointwiseFormula> pointwise_formula(const Op& op, TypeSpan inputs);

// Whether the op is of class pointwise or select.
bool is_pointwise(const Op& op);

// Whether an element of the result depends on the operands' elements at the same place alone: an op of class
// pointwise or select, or one with such a formula.
bool is_elementwise(const Op& op, TypeSpan inputs);

}  // namespace fusesmith::graph

// The trait `scaling`: what scaling the inputs of an op by powers of two does to its outputs. Each value is
// scaled by 2^f, f a linear form in unknown exponents; an op derives the forms of its outputs from those of
// its inputs, and may demand that two forms are equal. Metamorphic checks solve these equations. An op names
// a rule, or has a member function of the same signature.
#pragma once

#include <vector>

#include "graph/tensor.h"

namespace fusesmith::graph {

using LinearForm = std::vector<double>;  // coefficients, by unknown
LinearForm combined(const LinearForm& a, double factor, const LinearForm& b);

// The forms of one node's inputs, and the equations that its op adds.
class ScalingNode {
 public:
  ScalingNode(size_t unknowns, std::vector<const LinearForm*> inputs, std::vector<LinearForm>& equations)
      : unknowns_(unknowns), inputs_(std::move(inputs)), equations_(equations) {}

  size_t inputs() const { return inputs_.size(); }
  const LinearForm& in(size_t i) const { return *inputs_[i]; }
  LinearForm none() const { return LinearForm(unknowns_, 0.0); }  // a value that is not scaled
  void equal(const LinearForm& a, const LinearForm& b) { equations_.push_back(combined(a, -1, b)); }
  // Of an op inside of this one, whose equations are this one's.
  ScalingNode part(std::vector<const LinearForm*> inputs) {
    return {unknowns_, std::move(inputs), equations_};
  }

 private:
  size_t unknowns_;
  std::vector<const LinearForm*> inputs_;
  std::vector<LinearForm>& equations_;  // = 0
};

// The form of every output, or one form for all of them.
using OutputForms = std::vector<LinearForm>;

namespace scaling_rules {

OutputForms unscaled(ScalingNode& node);          // neither inputs nor outputs may be scaled
OutputForms as_first_input(ScalingNode& node);    // the others need not be scaled alike
OutputForms as_all_inputs(ScalingNode& node);     // all inputs are scaled alike
OutputForms as_all_but_first(ScalingNode& node);  // the first one is a condition
OutputForms product(ScalingNode& node);     // of inputs 0 and 1; input 2, if there is one, is added to it
OutputForms normalized(ScalingNode& node);  // input 0 is not scaled; weight and bias are, alike

}  // namespace scaling_rules

}  // namespace fusesmith::graph

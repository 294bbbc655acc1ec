#include "graph/traits/scaling.h"

namespace fusesmith::graph {

LinearForm combined(const LinearForm& a, double factor, const LinearForm& b) {
  LinearForm sum = a;
  for (size_t i = 0; i < sum.size(); ++i) sum[i] += factor * b[i];
  return sum;
}

namespace scaling_rules {
namespace {

OutputForms all_equal(ScalingNode& node, size_t first) {
  for (size_t i = first + 1; i < node.inputs(); ++i) node.equal(node.in(first), node.in(i));
  return {node.in(first)};
}

}  // namespace

OutputForms unscaled(ScalingNode& node) {
  for (size_t i = 0; i < node.inputs(); ++i) node.equal(node.in(i), node.none());
  return {node.none()};
}

OutputForms as_first_input(ScalingNode& node) { return {node.in(0)}; }
OutputForms as_all_inputs(ScalingNode& node) { return all_equal(node, 0); }
OutputForms as_all_but_first(ScalingNode& node) { return all_equal(node, 1); }

OutputForms product(ScalingNode& node) {
  LinearForm product = combined(node.in(0), 1, node.in(1));
  if (node.inputs() > 2) node.equal(product, node.in(2));
  return {std::move(product)};
}

// Statistics are compared with eps, which is not scaled; what is normalised is then weighted.
OutputForms normalized(ScalingNode& node) {
  node.equal(node.in(0), node.none());
  if (node.inputs() < 2) return {node.none()};
  if (node.inputs() > 2) node.equal(node.in(1), node.in(2));
  return {node.in(1)};
}

}  // namespace scaling_rules
}  // namespace fusesmith::graph

// Any explicit two-operand einsum.
#pragma once

#include <string>

#include "graph/op_fields.h"

namespace fusesmith::graph {

struct Einsum {
  std::string equation;  // "bid,bdh->bih": lower-case letters, an arrow, no spaces, no ellipsis

  static constexpr OpInfo info{"einsum",
                               "Sum of products of two operands; letters that are not in the output are "
                               "summed; a repeated letter selects a diagonal; an infinity times 0 is NaN.",
                               2, 2, OpClass::product};
  static constexpr auto fields() {
    return std::tuple{Field{"equation", &Einsum::equation, Free{"like \"bid,bdh->bih\""}, true}};
  }
  bool operator==(const Einsum&) const = default;

  static constexpr auto outputs = OutputCount::one;
  static constexpr bool inner_errors = false;
  static constexpr auto magnitude = magnitude_rules::sum_of_products;
  static constexpr auto grid = grid_rules::sum_of_products;
  static constexpr auto scaling = scaling_rules::product;
  Work work(TypeSpan inputs, const TensorType& output) const;
  void axis_relations(AxisRelations& axes) const;
};

// The letters of an equation taken apart.
struct EinsumLabels {
  std::string a, b, out;
  std::string summed;  // letters absent from the output, in order of first appearance
};
Result<EinsumLabels> parse_equation(const std::string& equation);

// How one operand is read: for each letter of `letters`, the stride in elements (0 where the operand lacks
// the letter; a repeated letter's strides add up, which reads the diagonal).
Shape label_strides(const std::string& labels, const Shape& shape, const std::string& letters);
// The size of each letter; sizes must agree wherever a letter stands.
Result<Shape> label_sizes(const EinsumLabels& labels, const Shape& a, const Shape& b,
                          const std::string& letters);

Result<Types> infer(const Einsum& op, TypeSpan inputs);

}  // namespace fusesmith::graph

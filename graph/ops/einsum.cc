#include "graph/ops/einsum.h"

#include <algorithm>

namespace fusesmith::graph {
namespace {

Problem bad_equation(const std::string& equation) {
  return expected(
      "an equation like \"bid,bdh->bih\" (two operands, lower-case letters, \"->\", no ellipsis), got \"" +
      equation.substr(0, 60) + "\"");
}

}  // namespace

Result<EinsumLabels> parse_equation(const std::string& equation) {
  const size_t comma = equation.find(',');
  const size_t arrow = equation.find("->");
  if (comma == std::string::npos || arrow == std::string::npos || comma > arrow)
    return bad_equation(equation);
  EinsumLabels labels{equation.substr(0, comma),
                      equation.substr(comma + 1, arrow - comma - 1),
                      equation.substr(arrow + 2),
                      {}};
  const std::string operands = labels.a + labels.b;
  for (char c : operands + labels.out) {
    if (c < 'a' || c > 'z') return bad_equation(equation);
  }
  for (size_t i = 0; i < labels.out.size(); ++i) {
    if (labels.out.find(labels.out[i], i + 1) != std::string::npos)
      return expected("no letter twice in the output of \"" + equation + "\"");
    if (operands.find(labels.out[i]) == std::string::npos)
      return expected("every output letter in an operand of \"" + equation + "\"");
  }
  for (char c : operands) {
    if (labels.out.find(c) == std::string::npos && labels.summed.find(c) == std::string::npos)
      labels.summed += c;
  }
  return labels;
}

Shape label_strides(const std::string& labels, const Shape& shape, const std::string& letters) {
  const Shape own = strides_of(shape);
  Shape strides(letters.size(), 0);
  for (size_t i = 0; i < letters.size(); ++i) {
    for (size_t j = 0; j < labels.size(); ++j) {
      if (labels[j] == letters[i]) strides[i] += own[j];
    }
  }
  return strides;
}

Result<Shape> label_sizes(const EinsumLabels& labels, const Shape& a, const Shape& b,
                          const std::string& letters) {
  Shape sizes(letters.size(), 1);
  const std::string all = labels.a + labels.b;
  for (size_t i = 0; i < letters.size(); ++i) {
    int64_t size = -1;
    for (size_t j = 0; j < all.size(); ++j) {
      if (all[j] != letters[i]) continue;
      const int64_t here = j < labels.a.size() ? a[j] : b[j - labels.a.size()];
      if (size >= 0 && here != size) {
        return expected(std::string("one size for letter '") + letters[i] + "', got " + std::to_string(size) +
                        " and " + std::to_string(here));
      }
      size = here;
    }
    sizes[i] = size;
  }
  return sizes;
}

Result<Types> infer(const Einsum& op, TypeSpan inputs) {
  const TensorType& a = inputs[0];
  const TensorType& b = inputs[1];
  const std::string got = ", got " + to_string(a) + " and " + to_string(b);
  if (!is_float(a.dtype) || a.dtype != b.dtype) return expected("two float tensors of one dtype" + got);
  const auto labels = parse_equation(op.equation);
  if (!labels) return Problem{labels.problem()};
  if (labels->a.size() != a.shape.size() || labels->b.size() != b.shape.size()) {
    return expected("as many letters as axes in \"" + op.equation + "\"" + got);
  }
  if (const auto all = label_sizes(*labels, a.shape, b.shape, labels->out + labels->summed); !all)
    return Problem{all.problem()};
  return one({a.dtype, *label_sizes(*labels, a.shape, b.shape, labels->out)});
}

Work Einsum::work(TypeSpan inputs, const TensorType& output) const {
  const EinsumLabels labels = *parse_equation(equation);
  const auto sizes = label_sizes(labels, inputs[0].shape, inputs[1].shape, labels.out + labels.summed);
  return {element_count(*sizes), element_count(output)};
}

void Einsum::axis_relations(AxisRelations& axes) const {
  const EinsumLabels labels = *parse_equation(equation);
  for (size_t i : {size_t{0}, size_t{1}}) {
    const std::string &own = i == 0 ? labels.a : labels.b, &other = i == 0 ? labels.b : labels.a;
    for (size_t axis = 0; axis < own.size(); ++axis) {
      const size_t to = labels.out.find(own[axis]);
      const auto at = static_cast<int>(axis);
      if (to == std::string::npos)
        axes.fix(i, at);
      else if (other.find(own[axis]) == std::string::npos)
        axes.become_row(i, at, static_cast<int>(to));
      else
        axes.unite(i, at, axes.out(), static_cast<int>(to));
    }
  }
}

}  // namespace fusesmith::graph

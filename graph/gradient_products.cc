#include "graph/gradient_products.h"

#include <set>

namespace fusesmith::graph {

using namespace gradient_parts;

// With A = a or a^T, B = b or b^T and dY: dA = dY B^T, dB = A^T dY.
Result<InputGradients> matmul_gradients(const Matmul& op, const ForwardNode& n) {
  const Var a = n.in[0], b = n.in[1], dy = n.dy();
  const Var da = op.transpose_a ? apply(Matmul{op.transpose_b, true}, {b, dy})
                                : apply(Matmul{false, !op.transpose_b}, {dy, b});
  const Var db = op.transpose_b ? apply(Matmul{true, op.transpose_a}, {dy, a})
                                : apply(Matmul{!op.transpose_a, false}, {a, dy});
  return InputGradients{sum_to(da, a.shape()), sum_to(db, b.shape())};
}

Result<InputGradients> linear_gradients(const ForwardNode& n) {
  const Var x = n.in[0], weight = n.in[1];
  const int64_t out = weight.shape()[0], in = weight.shape()[1], rows = element_count(x.shape()) / in;
  const Var dy = reshape(n.dy(), {rows, out});
  InputGradients all{reshape(apply(Matmul{}, {dy, weight}), x.shape()),
                     apply(Matmul{true, false}, {dy, reshape(x, {rows, in})})};
  if (n.in.size() > 2) all.emplace_back(sum_to(dy, {out}));
  return all;
}

namespace {

// The gradient of the operand with the letters `own`: the product of dy and the other operand, repeated along
// letters that stand in neither.
Var einsum_operand(const std::string& own, const std::string& other, const std::string& out, Var dy, Var with,
                   const Shape& shape) {
  std::string found;
  Shape kept = shape;
  for (size_t i = 0; i < own.size(); ++i) {
    if (out.find(own[i]) != std::string::npos || other.find(own[i]) != std::string::npos)
      found += own[i];
    else
      kept[i] = 1;
  }
  const Var product = apply(Einsum{out + "," + other + "->" + found}, {dy, with});
  return broadcast_to(reshape(product, kept), shape);
}

bool has_repeated_letter(const std::string& letters) {
  return std::set<char>(letters.begin(), letters.end()).size() != letters.size();
}

}  // namespace

Result<InputGradients> einsum_gradients(const Einsum& op, const ForwardNode& n) {
  const auto labels = parse_equation(op.equation);
  if (has_repeated_letter(labels->a) || has_repeated_letter(labels->b))
    return Problem{"a letter twice in one operand has no rule"};
  return InputGradients{einsum_operand(labels->a, labels->b, labels->out, n.dy(), n.in[1], n.in[0].shape()),
                        einsum_operand(labels->b, labels->a, labels->out, n.dy(), n.in[0], n.in[1].shape())};
}

namespace {

// The first or the second elements of all pairs that are rotated, [..., r / 2].
Var pair_part(const Rope& op, Var x, int64_t rotated, bool second) {
  const int64_t half = rotated / 2;
  if (op.pairing == Rope::Pairing::half)
    return apply(Slice{-1, second ? half : 0, second ? rotated : half}, {x});
  return apply(Slice{-1, second ? 1 : 0, rotated, 2}, {x});
}

}  // namespace

// The inverse of a rotation is that by the opposite angle.
Result<InputGradients> rope_gradients(const Rope& op, const ForwardNode& n) {
  const Var x = n.in[0], dy = n.dy(), sine = n.in[2];
  const int64_t rotated = op.rotated(x.shape().back());
  const Var a = pair_part(op, x, rotated, false), b = pair_part(op, x, rotated, true);
  const Var da = pair_part(op, dy, rotated, false), db = pair_part(op, dy, rotated, true);
  return InputGradients{apply(op, {dy, n.in[1], -sine}), sum_to(da * a + db * b, n.in[1].shape()),
                        sum_to(db * a - da * b, sine.shape())};
}

}  // namespace fusesmith::graph

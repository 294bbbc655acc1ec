#include "graph/ops/sdpa.h"

#include "graph/expand.h"

namespace fusesmith::graph {
namespace {

std::optional<Problem> operand_problem(const Sdpa& op, TypeSpan inputs) {
  const TensorType &q = inputs[0], &k = inputs[1], &v = inputs[2];
  const std::string got = ", got " + to_string(q) + ", " + to_string(k) + " and " + to_string(v);
  if (!is_float(q.dtype) || q.dtype != k.dtype || q.dtype != v.dtype)
    return expected("q, k, v of one float dtype" + got);
  const size_t rank = q.shape.size();
  if (rank < 2 || k.shape.size() != rank || v.shape.size() != rank)
    return expected("q, k, v of one rank, 2 or more" + got);
  const size_t equal = op.grouped_heads && rank > 2 ? rank - 3 : rank - 2;
  for (size_t i = 0; i < equal; ++i) {
    if (q.shape[i] != k.shape[i] || q.shape[i] != v.shape[i]) return expected("equal leading axes" + got);
  }
  if (op.grouped_heads) {
    if (rank < 3 || rank == kMaxRank) return expected("q, k, v of rank 3 to 7 for grouped_heads" + got);
    const int64_t heads = k.shape[rank - 3];
    if (heads != v.shape[rank - 3] || q.shape[rank - 3] % heads != 0)
      return expected("as many heads in k and v, dividing those of q" + got);
  }
  if (q.shape[rank - 1] != k.shape[rank - 1]) return expected("q and k of one head size" + got);
  if (k.shape[rank - 2] != v.shape[rank - 2]) return expected("as many keys as values" + got);
  return std::nullopt;
}

std::optional<Problem> mask_problem(const Sdpa& op, TypeSpan inputs, const Shape& scores) {
  if (op.takes_mask() != (inputs.size() == 4))
    return expected("a fourth input exactly when mask is \"boolean\" or \"additive\"");
  if (op.takes_mask() && op.window > 0) return expected("a window only when mask is \"none\" or \"causal\"");
  if (!op.takes_mask()) return std::nullopt;
  const Dtype dtype = op.mask == Sdpa::Mask::boolean ? Dtype::boolean : inputs[0].dtype;
  const auto shape = broadcast(inputs[3].shape, scores);
  if (inputs[3].dtype == dtype && shape && *shape == scores) return std::nullopt;
  return expected("a mask that broadcasts to " + to_string(TensorType{dtype, scores}) + ", got " +
                  to_string(inputs[3]));
}

}  // namespace

Result<Types> infer(const Sdpa& op, TypeSpan inputs) {
  if (auto problem = operand_problem(op, inputs)) return *problem;
  Shape scores(inputs[0].shape.begin(), inputs[0].shape.end() - 1);
  scores.push_back(inputs[2].shape.end()[-2]);
  if (auto problem = mask_problem(op, inputs, scores)) return *problem;
  if (op.softcap != 0 && op.softcap < Sdpa::kSmallestCap)
    return expected("softcap 0 or at least 0.01, got " + std::to_string(op.softcap));
  // Parts of the inner values must be tensors too; so must the causal mask's sizes be in its range.
  Shape keys = inputs[0].shape;
  keys.end()[-2] = scores.back();
  if (score_count(inputs) > kMaxScores || element_count(keys) > kMaxElements)
    return expected("at most 2^36 scores, and keys of 2^27 elements, got scores " + to_string(scores));
  constexpr int64_t kMostRows = 1 << 16;
  const bool causal = op.mask == Sdpa::Mask::causal || op.window > 0;
  if (causal && (scores.end()[-2] > kMostRows || scores.back() > kMostRows))
    return expected("at most 2^16 queries and keys for a causal mask or a window, got scores " +
                    to_string(scores));
  TensorType y = inputs[0];
  y.shape.back() = inputs[2].shape.back();
  return one(y);
}

// Elements: scores, scaled scores, masked ones and probabilities.
Work Sdpa::work(TypeSpan inputs, const TensorType& output) {
  const int64_t out = element_count(output), q = element_count(inputs[0]);
  const int64_t keys = (inputs[1].shape.end() - 2)[0];
  return {(out + q) * keys, out + 4 * q / inputs[0].shape.back() * keys};
}

// The scores stay as they are.
OutputForms Sdpa::scaling(ScalingNode& node) {
  node.equal(combined(node.in(0), 1, node.in(1)), node.none());
  if (node.inputs() > 3) node.equal(node.in(3), node.none());
  return {node.in(2)};
}

void Sdpa::axis_relations(AxisRelations& axes) const {
  const size_t q = 0, k = 1, v = 2, mask_input = 3, out = axes.out();
  const int rank_out = axes.rank(out);
  std::vector<int> shifts;
  for (size_t i : {q, k, v}) {
    axes.align(i, 2, 2);
    shifts.push_back(axes.rank(i) - rank_out);
  }
  for (int axis = 0; axis < rank_out - 2; ++axis) axes.batch(axis, shifts);
  axes.become_row(q, axes.rank(q) - 2, rank_out - 2);
  axes.become_row(v, axes.rank(v) - 1, rank_out - 1);
  axes.fix(q, axes.rank(q) - 1);
  for (int back : {1, 2}) axes.fix(k, axes.rank(k) - back);
  axes.fix(v, axes.rank(v) - 2);
  if (mask == Mask::causal || window > 0) axes.fix(out, rank_out - 2);
  if (grouped_heads) {  // a head's place says whose keys it reads
    axes.fix(out, rank_out - 3);
    for (size_t i : {k, v}) axes.fix(i, axes.rank(i) - 3);
  }
  if (axes.inputs() < 4) return;
  const int last = axes.rank(mask_input) - 1;
  axes.align(mask_input, 1, 1);
  if (last >= 0) axes.fix(mask_input, last);
}

}  // namespace fusesmith::graph

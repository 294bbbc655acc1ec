// sdpa: scaled dot-product attention in one kernel, from its parts or from the composite op.
#include "backends/rewrite/patterns.h"
#include "backends/rewrite/sdpa_matcher.h"

namespace fusesmith {
namespace {

std::optional<Match> match(const MatchContext& context, int n) {
  if (context.op_as<Sdpa>(n)) return match_composite_sdpa(context, n);
  return match_attention(context, n);
}

}  // namespace

MatrixOperand matrix_operand(const Graph& graph, ValueId value, const Shape& batch, bool transposed) {
  const Shape& shape = graph.type(value).shape;
  Shape full = batch;
  full.push_back(shape.size() >= 2 ? shape[shape.size() - 2] : 1);
  full.push_back(shape.empty() ? 1 : shape.back());
  const Shape strides = broadcast_strides(shape, full);
  MatrixOperand operand{value, Shape(strides.begin(), strides.end() - 2), strides[strides.size() - 2],
                        strides.back()};
  if (transposed) std::swap(operand.row, operand.column);
  return operand;
}

void declare_probabilities(Contract& contract, const FusedAttention& attention, const Arithmetic& arithmetic,
                           const std::string& p, const std::string& product) {
  contract.unnormalised.push_back(product);
  if (is_16_bit(attention.p_dtype)) {
    contract.deviations.push_back({Deviation::Kind::move, p, attention.p_dtype,
                                   unit_roundoff(attention.p_dtype),
                                   "probabilities are rounded before their normalisation"});
  }
  const int64_t rescales = (attention.keys + attention.key_tile - 1) / attention.key_tile - 1;
  if (rescales > 0) {
    contract.slacks.push_back({p, static_cast<double>(rescales) * (arithmetic.exp + 2) * kU,
                               "rescaled each time the running maximum moves"});
  }
}

Pattern sdpa_pattern() {
  return {
      "sdpa",
      "scores, scale, mask, softmax, dropout and the product with v, or the op sdpa -> tiled online softmax",
      match, sdpa_examples(), sdpa_near_misses()};
}

}  // namespace fusesmith

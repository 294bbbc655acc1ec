// sdpa: scaled dot-product attention in one kernel, from its parts or from the composite op.
#include "backends/rewrite/patterns.h"
#include "backends/rewrite/sdpa/sdpa_matcher.h"

namespace fusesmith::backends {
namespace {

std::optional<Match> match_sdpa(const MatchContext& context, int n) {
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

Shape fewer_heads(Shape batch, int64_t group) {
  if (!batch.empty()) batch.back() /= group;
  return batch;
}

void group_heads(FusedAttention& attention, int64_t group, bool k_shared, bool v_shared,
                 const Faults& faults) {
  const int64_t groups = attention.batch.back() / group;
  const bool by_modulo = faults.has("grouped_heads_by_modulo");                    // head h reads h % groups
  const bool by_group = faults.has("kv_head_from_group_size") && group <= groups;  // h % group
  const bool wraps = by_modulo || by_group;
  const int64_t inner = by_modulo ? groups : group;
  attention.batch.back() /= inner;
  attention.batch.push_back(inner);
  const auto split = [&](MatrixOperand& operand, bool shared) {
    if (operand.value < 0) return;
    const int64_t stride = operand.batch_strides.back();
    operand.batch_strides.back() = !shared ? stride * inner : wraps ? 0 : stride;
    operand.batch_strides.push_back(!shared || wraps ? stride : 0);
  };
  split(attention.q, false);
  split(attention.k, k_shared);
  split(attention.v, v_shared);
  split(attention.mask.mask, false);
  split(attention.mask.other, false);
}

void plant_mistakes(FusedAttention& attention, const Faults& faults) {
  MatrixOperand &q = attention.q, &v = attention.v, &mask = attention.mask.mask;
  const Shape& batch = attention.batch;
  if (faults.has("query_batch_stride_from_keys") && attention.keys < attention.queries) {
    for (int64_t& stride : q.batch_strides) stride = stride / attention.queries * attention.keys;
  }
  const bool wide = attention.width > attention.depth && v.column == 1;
  if (faults.has("value_rows_one_head_size_apart") && wide) v.row = attention.depth;
  const bool square = mask.value >= 0 && batch.size() == 2 && batch[0] == batch[1];
  if (faults.has("mask_of_batch_read_by_head") && square)
    std::swap(mask.batch_strides[0], mask.batch_strides[1]);
  if (faults.has("mask_row_stride_of_whole_tiles") && mask.row == attention.keys &&
      mask.row > attention.key_tile)
    mask.row -= mask.row % attention.key_tile;
  if (faults.has("probabilities_in_bf16")) attention.p_dtype = Dtype::bf16;
  const bool lone = attention.keys > 1 && attention.keys % attention.key_tile == 1;
  if (faults.has("lone_last_key_dropped") && lone) --attention.keys;
}

double rescales(const FusedAttention& attention) {
  const int64_t tiles = (attention.keys + attention.key_tile - 1) / attention.key_tile;
  return static_cast<double>(tiles - 1);
}

Pattern sdpa_pattern() {
  return {"sdpa",
          "scores, scale, softcap, mask, softmax, dropout and the product with v, or the op sdpa -> tiled "
          "online softmax",
          match_sdpa,
          sdpa_examples(),
          sdpa_near_misses(),
          sdpa_guards()};
}

}  // namespace fusesmith::backends

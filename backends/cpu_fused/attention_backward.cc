// AttentionBackward: one query after another. Its scores become probabilities by way of their logsumexp; the
// gradients of keys and values add up over the queries.
#include <algorithm>
#include <cmath>
#include <limits>

#include "backends/common/float_functions.h"
#include "backends/common/reduce.h"
#include "backends/common/round_through.h"
#include "backends/cpu_fused/attention_scores.h"
#include "backends/cpu_fused/run_fused.h"

namespace fusesmith::backends {
namespace {

struct AttentionGradientFaults {
  bool without_delta, first_delta, narrow_delta, scaled_dq_alone, scaled_twice, hidden_as_zero, no_diagonal,
      no_maximum, previous_row, no_key_tail, no_query_tail, columns_of_keys, narrow_p, last_queries,
      no_dq_tail;

  explicit AttentionGradientFaults(const RegionScope& scope)
      : without_delta(scope.planted("attention_backward_without_delta")),
        first_delta(scope.planted("delta_of_first_query")),
        narrow_delta(scope.planted("delta_in_bf16")),
        scaled_dq_alone(scope.planted("gradient_scale_on_dq_alone")),
        scaled_twice(scope.planted("gradient_scale_twice_on_dq")),
        hidden_as_zero(scope.planted("hidden_scores_are_zero_in_backward")),
        no_diagonal(scope.planted("diagonal_hidden_in_backward")),
        no_maximum(scope.planted("logsumexp_without_maximum")),
        previous_row(scope.planted("logsumexp_of_previous_query")),
        no_key_tail(scope.planted("last_key_tile_not_in_dq")),
        no_query_tail(scope.planted("last_query_tile_not_in_dk")),
        columns_of_keys(scope.planted("dv_columns_by_key_width")),
        narrow_p(scope.planted("probabilities_in_bf16_for_dv")),
        last_queries(scope.planted("dk_of_last_query_tile")),
        no_dq_tail(scope.planted("dq_tail_not_written")) {}
};

constexpr int64_t kFaultyTile = 16;  // of the injected faults

// A matrix of the current batch element, in memory.
struct MatrixInMemory {
  const float* first = nullptr;
  int64_t row = 0, column = 0;

  float at(int64_t r, int64_t c) const { return first[r * row + c * column]; }
};

class AttentionGradients {
 public:
  AttentionGradients(const AttentionBackward& op, const RegionScope& scope)
      : op_(op),
        attention_(op.attention),
        faults_(scope),
        scores_(op.attention, scope),
        q_(scope.floats(op.attention.q.value)),
        k_(scope.floats(op.attention.k.value)),
        v_(scope.floats(op.attention.v.value)),
        dy_(scope.floats(op.dy.value)),
        tile_(static_cast<size_t>(op.attention.query_tile * op.attention.keys)),
        p_(static_cast<size_t>(op.attention.keys)),
        ds_(p_.size()) {}

  // [batch, queries, depth], [batch, keys, depth] and [batch, keys, width].
  void run(std::span<float> dq, std::span<float> dk, std::span<float> dv) {
    for (const std::span<float> all : {dq, dk, dv}) std::fill(all.begin(), all.end(), 0.0f);
    Shape index(attention_.batch.size(), 0);
    for (int64_t i = 0, count = element_count(attention_.batch); i < count; ++i) {
      start(index);
      dq_ = dq.data() + i * attention_.queries * attention_.depth;
      dk_ = dk.data() + i * attention_.keys * attention_.depth;
      dv_ = dv.data() + i * attention_.keys * attention_.width;
      for (int64_t first = 0; first < attention_.queries; first += attention_.query_tile) run_tile(first);
      for (size_t axis = index.size(); axis-- > 0;) {
        if (++index[axis] < attention_.batch[axis]) break;
        index[axis] = 0;
      }
    }
  }

 private:
  static MatrixInMemory rows_of(const Floats& all, const MatrixOperand& operand, const Shape& index) {
    return {all.data() + start_of(operand, index), operand.row, operand.column};
  }

  void start(const Shape& index) {
    scores_.start(index, index);
    queries_ = rows_of(q_, attention_.q, index);
    keys_ = rows_of(k_, attention_.k, index);
    values_ = rows_of(v_, attention_.v, index);
    results_ = rows_of(dy_, op_.dy, index);
  }

  void run_tile(int64_t first) {
    const int64_t rows = std::min(attention_.query_tile, attention_.queries - first), keys = attention_.keys;
    scores_.load_queries(first, rows);
    for (int64_t key = 0; key < keys; key += attention_.key_tile) {
      const auto [scores, count] = scores_.tile(first, rows, key);
      for (int64_t r = 0; r < rows; ++r)
        std::copy_n(scores + r * attention_.key_tile, count, tile_.data() + r * keys + key);
    }
    for (int64_t r = 0; r < rows; ++r) {
      const std::span<const float> row(tile_.data() + r * keys, static_cast<size_t>(keys));
      differentiate_scores(first + r, row);
      add_products(first + r);
    }
  }

  float log_sum_exp(std::span<const float> scores) const {
    float max = -std::numeric_limits<float>::infinity();
    for (const float s : scores) max = maximum(max, s);
    if (!std::isfinite(max)) return max;
    const float sum = sum_of(scores.size(), [&](size_t j) { return std::exp(scores[j] - max); });
    return faults_.no_maximum ? std::log(sum) : std::log(sum) + max;
  }

  bool on_diagonal(int64_t query, size_t key) const {
    const CausalMask& mask = attention_.mask.causal;
    return attention_.mask.kind == AttentionMask::Kind::causal &&
           static_cast<int64_t>(key) == query + causal_offset(mask.alignment, mask.rows, mask.cols);
  }

  float scaled(float ds) const {
    if (!op_.gradient_scale) return ds;
    const float factor = static_cast<float>(op_.gradient_scale->factor);
    return op_.gradient_scale->inverse ? ds / factor : ds * factor;
  }

  // Fills p and ds, not scaled yet.
  void differentiate_scores(int64_t query, std::span<const float> scores) {
    const float own = log_sum_exp(scores);
    const float total = faults_.previous_row && query > 0 ? latest_ : own;
    latest_ = own;
    for (size_t j = 0; j < p_.size(); ++j) {
      const bool hidden = scores[j] == -std::numeric_limits<float>::infinity();
      p_[j] = std::exp((faults_.hidden_as_zero && hidden ? 0.0f : scores[j]) - total);
      if (faults_.no_diagonal && on_diagonal(query, j)) p_[j] = 0;
      ds_[j] = sum_of(static_cast<size_t>(attention_.width), [&](size_t c) {
        return results_.at(query, static_cast<int64_t>(c)) *
               values_.at(static_cast<int64_t>(j), static_cast<int64_t>(c));
      });
    }
    float delta = sum_of(p_.size(), [&](size_t j) { return p_[j] * ds_[j]; });
    if (faults_.narrow_delta) delta = in_bf16(delta);
    if (query == 0) first_delta_ = delta;
    if (faults_.first_delta) delta = first_delta_;
    if (faults_.without_delta) delta = 0;
    for (size_t j = 0; j < p_.size(); ++j) ds_[j] = p_[j] * (ds_[j] - delta);
  }

  static bool is_in_tail(int64_t i, int64_t size) {
    return size > kFaultyTile && i >= size - size % kFaultyTile;
  }

  void add_products(int64_t query) {
    const int64_t depth = attention_.depth, keys = attention_.keys;
    float* const dq = dq_ + query * depth;
    const bool skips_keys = faults_.no_query_tail && is_in_tail(query, attention_.queries);
    if (faults_.last_queries && query % kFaultyTile == 0) std::fill_n(dk_, keys * depth, 0.0f);
    const int64_t dq_columns = faults_.no_dq_tail && depth > 8 ? depth - depth % 8 : depth;
    for (int64_t j = 0; j < keys; ++j) {
      const float raw = ds_[static_cast<size_t>(j)], ds = scaled(raw);
      const float of_q = faults_.scaled_twice ? scaled(ds) : ds, of_k = faults_.scaled_dq_alone ? raw : ds;
      for (int64_t c = 0; c < dq_columns && !(faults_.no_key_tail && is_in_tail(j, keys)); ++c)
        dq[c] += of_q * keys_.at(j, c);
      if (skips_keys) continue;
      for (int64_t c = 0; c < depth; ++c) dk_[j * depth + c] += of_k * queries_.at(query, c);
      add_values(query, j);
    }
  }

  void add_values(int64_t query, int64_t key) {
    const int64_t width = attention_.width;
    const int64_t columns = faults_.columns_of_keys ? std::min(width, attention_.depth) : width;
    const float exact = p_[static_cast<size_t>(key)], p = faults_.narrow_p ? in_bf16(exact) : exact;
    for (int64_t c = 0; c < columns; ++c) dv_[key * width + c] += p * results_.at(query, c);
  }

  const AttentionBackward& op_;
  const FusedAttention& attention_;
  const AttentionGradientFaults faults_;
  ScoreTiles scores_;
  Floats q_, k_, v_, dy_;
  MatrixInMemory queries_, keys_, values_, results_;
  float *dq_ = nullptr, *dk_ = nullptr, *dv_ = nullptr;
  std::vector<float> tile_, p_, ds_;    // tile_: scores of a tile of queries; the others of one query
  float latest_ = 0, first_delta_ = 0;  // for injected faults
};

}  // namespace

void run_fused(const AttentionBackward& op, const RegionScope& scope, Outputs outs) {
  AttentionGradients gradients(op, scope);
  const auto out = [&](int place) -> Tensor& { return *outs[static_cast<size_t>(place)]; };
  write_floats(out(op.dq), [&](std::span<float> dq) {
    write_floats(out(op.dk), [&](std::span<float> dk) {
      write_floats(out(op.dv), [&](std::span<float> dv) { gradients.run(dq, dk, dv); });
    });
  });
}

}  // namespace fusesmith::backends

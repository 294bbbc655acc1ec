// FusedAttention: for each tile of queries, one pass over tiles of keys with a running maximum;
// accumulator and sum are rescaled when the maximum changes (FlashAttention, Dao et al. 2022). Scores, the
// sum of probabilities and the accumulator stay in f32; only the probabilities are rounded, before the
// second product. NaN and infinities give the results that softmax defines: no key is skipped, and a row
// of only -inf is 0/0.
#include <algorithm>
#include <cmath>
#include <limits>

#include "backends/common/floats.h"
#include "backends/common/reduce.h"
#include "backends/cpu_fused/attention_scores.h"
#include "backends/cpu_fused/panels.h"
#include "backends/cpu_fused/round_through.h"
#include "backends/cpu_fused/run_fused.h"

namespace fusesmith::backends {
namespace {

constexpr float kNothing = -std::numeric_limits<float>::infinity();

struct Faults {
  bool no_rescale, zero_maximum, zero_logit, drop_last_row, narrow_sum;
};

// The running softmax of one query.
struct RunningRow {
  float maximum = kNothing;  // of the scores so far, or given
  float own = kNothing;      // of the scores so far
  float sum = 0;

  // Turns scores into exponentials relative to the new maximum. Returns the factor that rescales the
  // previous sums.
  float advance(std::span<float> scores) {
    float next = maximum;
    for (float s : scores) {
      next = s > next ? s : next;
      own = s > own ? s : own;
    }
    for (float& s : scores) s = s == kNothing ? 0.0f : std::exp(s - next);
    const float shrink = maximum == kNothing ? 0.0f : std::exp(maximum - next);
    maximum = next;
    sum *= shrink;
    sum += sum_of(scores.size(), [&](size_t j) { return scores[j]; });
    return shrink;
  }
};

class AttentionKernel {
 public:
  AttentionKernel(const FusedAttention& attention, const RegionScope& scope)
      : op_(attention),
        scores_(attention, scope),
        v_(scope.floats(attention.v.value)),
        values_(round_up(attention.keys, attention.key_tile), attention.width),
        accumulator_(static_cast<size_t>(attention.query_tile * values_.padded_columns())),
        rows_(static_cast<size_t>(attention.query_tile)),
        faults_{scope.planted("no_rescale"), scope.planted("running_max_starts_at_zero"),
                scope.planted("extra_zero_logit"), scope.planted("last_query_row_dropped"),
                scope.planted("softmax_sum_in_bf16")},
        tf32_(reads_tf32(scope.products, scope.at(attention.v.value).type.dtype)),
        probed_(scope.probe != nullptr),
        seen_scores_(scope.probe, "scores", rows_of(attention) * static_cast<size_t>(attention.keys)),
        maxima_(scope.probe, "maximum", rows_of(attention)),
        sums_(scope.probe, "sum", rows_of(attention)),
        // Of the second product, as the graph has it.
        seen_values_(detailed(scope.probe), "right of product 2",
                     static_cast<size_t>(element_count(attention.batch) * attention.keys * attention.width)),
        results_(detailed(scope.probe), "product 2",
                 rows_of(attention) * static_cast<size_t>(attention.width), true) {}

  void run(std::span<float> out) {
    float* to = out.data();
    Shape index(op_.batch.size(), 0);
    for (int64_t i = 0, count = element_count(op_.batch); i < count; ++i) {
      scores_.start(index);
      pack_values(i, index);
      for (int64_t first = 0; first < op_.queries; first += op_.query_tile) {
        const int64_t rows = std::min(op_.query_tile, op_.queries - first);
        if (!(faults_.drop_last_row && rows == 1)) run_tile(i, first, rows, to + first * op_.width);
      }
      to += op_.queries * op_.width;
      for (size_t axis = index.size(); axis-- > 0;) {
        if (++index[axis] < op_.batch[axis]) break;
        index[axis] = 0;
      }
    }
  }

 private:
  static size_t rows_of(const FusedAttention& attention) {
    return static_cast<size_t>(element_count(attention.batch) * attention.queries);
  }

  void show_scores(size_t row, int64_t key, int64_t keys, std::span<float> scores) const {
    for (int64_t j = 0; j < std::min(keys, op_.keys - key); ++j) {
      float& score = scores[static_cast<size_t>(j)];
      score = seen_scores_(row * static_cast<size_t>(op_.keys) + static_cast<size_t>(key + j), score);
    }
  }

  void pack_values(int64_t batch, const Shape& index) {
    const float* v = v_.data() + start_of(op_.v, index);
    for (int64_t j = 0; j < op_.keys; ++j) {
      for (int64_t c = 0; c < op_.width; ++c) {
        const float x = v[j * op_.v.row + c * op_.v.column];
        values_.at(j, c) = tf32_ ? to_tf32(x) : x;
      }
    }
    if (seen_values_.shown()) show_values(batch);
  }

  void show_values(int64_t batch) {
    for (int64_t j = 0; j < op_.keys; ++j) {
      for (int64_t c = 0; c < op_.width; ++c) {
        const auto at = static_cast<size_t>((batch * op_.keys + j) * op_.width + c);
        values_.at(j, c) = seen_values_(at, values_.at(j, c));
      }
    }
  }

  void run_tile(int64_t batch, int64_t first, int64_t rows, float* out) {
    const int64_t stride = values_.padded_columns();
    std::fill(accumulator_.begin(), accumulator_.end(), 0.0f);
    const auto row0 = static_cast<size_t>(batch * op_.queries + first);
    const float lowest = faults_.zero_maximum ? 0.0f : kNothing;
    for (size_t r = 0; r < static_cast<size_t>(rows); ++r)
      rows_[r] = {maxima_.given_or(row0 + r, lowest), lowest, 0.0f};
    scores_.load_queries(first, rows);
    for (int64_t key = 0; key < op_.keys; key += op_.key_tile) {
      const auto [p, keys] = scores_.tile(first, rows, key);
      for (int64_t r = 0; r < rows; ++r) {
        const std::span<float> row(p + r * op_.key_tile, static_cast<size_t>(keys));
        if (probed_) show_scores(row0 + static_cast<size_t>(r), key, keys, row);
        const float shrink = rows_[static_cast<size_t>(r)].advance(row);
        float* sums = accumulator_.data() + r * stride;
        for (int64_t c = 0; c < stride && !faults_.no_rescale; ++c) sums[c] *= shrink;
        if (faults_.narrow_sum)
          round_through(Dtype::bf16, std::span<float>(&rows_[static_cast<size_t>(r)].sum, 1));
        round_through(op_.p_dtype, row);
        if (tf32_ && op_.p_dtype == Dtype::f32) to_tf32(row);
      }
      add_product(p, op_.key_tile, rows, values_, key, keys, accumulator_.data(), stride);
    }
    for (int64_t r = 0; r < rows; ++r) {
      const RunningRow& row = rows_[static_cast<size_t>(r)];
      const float own_sum = faults_.zero_logit ? row.sum + std::exp(-row.maximum) : row.sum;
      maxima_(row0 + static_cast<size_t>(r), row.own);
      const float sum = sums_(row0 + static_cast<size_t>(r), own_sum);
      for (int64_t c = 0; c < op_.width; ++c)
        out[r * op_.width + c] = accumulator_[static_cast<size_t>(r * stride + c)] / sum;
      const auto width = static_cast<size_t>(op_.width);
      results_((row0 + static_cast<size_t>(r)) * width, {out + r * op_.width, width});
    }
  }

  const FusedAttention& op_;
  ScoreTiles scores_;
  Floats v_;
  Panels values_;
  std::vector<float> accumulator_;
  std::vector<RunningRow> rows_;
  Faults faults_;
  bool tf32_;  // v and probabilities that stay in f32 are rounded to tf32
  bool probed_;
  InnerValue seen_scores_, maxima_, sums_, seen_values_, results_;
};

}  // namespace

// The larger of its two products. Exponentials: tiles one after the other; within one, the eight lanes of
// sum_of.
SumOrder sum_order(const FusedAttention& attention, OnCpu) {
  const double tile = static_cast<double>(attention.key_tile);
  return {.products = std::max(blocked_height(attention.keys, std::min(attention.key_tile, kDepthBlock)),
                               blocked_height(attention.depth, kDepthBlock)),
          .rows = RowSums{tile, std::ceil(tile / 8) + 3}};
}

void run_fused(const FusedAttention& attention, const RegionScope& scope, Tensor& out) {
  AttentionKernel kernel(attention, scope);
  write_floats(out, [&](std::span<float> y) {
    std::fill(y.begin(), y.end(), 0.0f);
    kernel.run(y);
  });
}

}  // namespace fusesmith::backends

// FusedAttention: for each tile of queries, one pass over tiles of keys with a running maximum;
// accumulator and sum are rescaled when the maximum changes (FlashAttention, Dao et al. 2022). Scores, the
// sum of probabilities and the accumulator stay in f32; only the probabilities are rounded, before the
// second product. NaN and infinities give the results that softmax defines: no key is skipped, and a row
// of only -inf is 0/0. Few queries have their keys split (key_splits.h): each split is such a pass, and the
// combination scales its sum and its accumulator once more, to the largest of the maxima.
#include <algorithm>
#include <bit>
#include <cmath>
#include <limits>

#include "backends/common/floats.h"
#include "backends/common/reduce.h"
#include "backends/common/round_through.h"
#include "backends/cpu_fused/attention_scores.h"
#include "backends/cpu_fused/key_splits.h"
#include "backends/cpu_fused/panels.h"
#include "backends/cpu_fused/run_fused.h"

namespace fusesmith::backends {
namespace {

constexpr float kNothing = -std::numeric_limits<float>::infinity();

struct Faults {
  bool no_rescale, zero_maximum, zero_logit, drop_last_row, narrow_sum, unguarded, unpadded_values,
      early_causal_end, late_window_start, rounded_ratio, shared_maximum;
  // of splits
  bool unscaled, empty_is_nan, tail_dropped, by_maximum, narrow_partials, into_first_batch, unpadded_step;

  explicit Faults(const RegionScope& scope)
      : no_rescale(scope.planted("no_rescale")),
        zero_maximum(scope.planted("running_max_starts_at_zero")),
        zero_logit(scope.planted("extra_zero_logit")),
        drop_last_row(scope.planted("last_query_row_dropped")),
        narrow_sum(scope.planted("softmax_sum_in_bf16")),
        unguarded(scope.planted("hidden_tile_gives_nan")),
        unpadded_values(scope.planted("padded_values_not_zeroed")),
        early_causal_end(scope.planted("causal_tiles_end_at_first_query")),
        late_window_start(scope.planted("window_tiles_start_late")),
        rounded_ratio(scope.planted("group_ratio_as_power_of_two")),
        shared_maximum(scope.planted("scale_sees_padding_rows")),
        unscaled(scope.planted("splits_combined_without_rescale")),
        empty_is_nan(scope.planted("split_without_keys_gives_nan")),
        tail_dropped(scope.planted("last_split_tail_dropped")),
        by_maximum(scope.planted("splits_weighted_by_maximum")),
        narrow_partials(scope.planted("split_partials_in_bf16")),
        into_first_batch(scope.planted("combine_batch_stride_zero")),
        unpadded_step(scope.planted("combine_row_step_is_depth")) {}
};

// The running softmax of one query.
struct RunningRow {
  float maximum = kNothing;  // of the scores so far, or given
  float own = kNothing;      // of the scores so far
  float sum = 0;

  // Turns scores into exponentials relative to the new maximum. Returns the factor that rescales the
  // previous sums. Injected faults: `unguarded`: -inf - -inf is computed while no key was visible; `least`:
  // the new maximum is at least this.
  float advance(std::span<float> scores, bool unguarded, float least) {
    float next = least > maximum ? least : maximum;
    for (float s : scores) {
      next = s > next ? s : next;
      own = s > own ? s : own;
    }
    for (float& s : scores) s = s == kNothing && !unguarded ? 0.0f : std::exp(s - next);
    const float shrink = maximum == kNothing && !unguarded ? 0.0f : std::exp(maximum - next);
    maximum = next;
    sum *= shrink;
    sum += sum_of(scores.size(), [&](size_t j) { return scores[j]; });
    return shrink;
  }
};

// What one pass over keys has made of a tile of queries.
struct Pass {
  std::vector<float> accumulator;
  std::vector<RunningRow> rows;
};

class AttentionKernel {
 public:
  AttentionKernel(const FusedAttention& attention, const RegionScope& scope)
      : op_(attention),
        splits_(key_splits(attention)),
        scores_(attention, scope),
        v_(scope.floats(attention.v.value)),
        values_(round_up(attention.keys, attention.key_tile), attention.width),
        passes_(static_cast<size_t>(splits_.count)),
        faults_(scope),
        tf32_(reads_tf32(scope.products, scope.at(attention.v.value).type.dtype)),
        probed_(scope.probe != nullptr),
        seen_scores_(scope.probe, "scores", rows_of(attention) * static_cast<size_t>(attention.keys)),
        maxima_(scope.probe, "maximum", rows_of(attention)),
        sums_(scope.probe, "sum", rows_of(attention)),
        // Of the second product, as the graph has it.
        seen_values_(detailed(scope.probe), "right of product 2",
                     static_cast<size_t>(element_count(attention.batch) * attention.keys * attention.width)),
        results_(detailed(scope.probe), "product 2",
                 rows_of(attention) * static_cast<size_t>(attention.width), true) {
    for (Pass& pass : passes_) {
      pass.accumulator.resize(static_cast<size_t>(attention.query_tile * values_.padded_columns()));
      pass.rows.resize(static_cast<size_t>(attention.query_tile));
    }
    if (faults_.tail_dropped && splits_.count > 1)
      splits_.tiles = round_up(op_.keys, op_.key_tile) / op_.key_tile / splits_.count;
  }

  void run(std::span<float> out) {
    Shape index(op_.batch.size(), 0);
    for (int64_t i = 0, count = element_count(op_.batch); i < count; ++i) {
      const Shape shared = faults_.rounded_ratio ? index_by_rounded_ratio(index) : index;
      float* const to = out.data() + place_of(i, count) * op_.queries * op_.width;
      scores_.start(index, shared);
      pack_values(i, shared);
      for (int64_t first = 0; first < op_.queries; first += op_.query_tile) {
        const int64_t rows = std::min(op_.query_tile, op_.queries - first);
        if (!(faults_.drop_last_row && rows == 1)) run_tile(i, first, rows, to + first * op_.width);
      }
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

  // Of the results of batch element i. Injected fault: splits are combined with batch stride 0.
  int64_t place_of(int64_t i, int64_t count) const {
    const bool first = faults_.into_first_batch && splits_.count > 1 && !op_.batch.empty();
    return first ? i % (count / op_.batch.front()) : i;
  }

  void show_scores(size_t row, int64_t key, int64_t keys, std::span<float> scores) const {
    for (int64_t j = 0; j < std::min(keys, op_.keys - key); ++j) {
      float& score = scores[static_cast<size_t>(j)];
      score = seen_scores_(row * static_cast<size_t>(op_.keys) + static_cast<size_t>(key + j), score);
    }
  }

  // Injected fault: so many query heads share a head of k and v as the next power of two.
  Shape index_by_rounded_ratio(Shape index) const {
    const size_t last = index.size() - 1;
    if (index.size() < 3 || op_.k.batch_strides.back() != 0 || op_.v.batch_strides.back() != 0) return index;
    const int64_t ratio = op_.batch[last], head = index[last - 1] * ratio + index[last];
    index[last - 1] = head / static_cast<int64_t>(std::bit_ceil(static_cast<uint64_t>(ratio)));
    return index;
  }

  void pack_values(int64_t batch, const Shape& index) {
    const float* v = v_.data() + start_of(op_.v, index);
    for (int64_t j = op_.keys; faults_.unpadded_values && j < values_.depth(); ++j) {
      for (int64_t c = 0; c < op_.width; ++c) values_.at(j, c) = std::numeric_limits<float>::quiet_NaN();
    }
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
    const auto row0 = static_cast<size_t>(batch * op_.queries + first);
    scores_.load_queries(first, rows);
    const int64_t keys_of_split = splits_.tiles * op_.key_tile;
    for (int64_t split = 0; split < splits_.count; ++split) {
      const int64_t begin = split * keys_of_split;
      Pass& pass = passes_[static_cast<size_t>(split)];
      pass_over(first, rows, row0, {begin, std::min(begin + keys_of_split, op_.keys)}, pass);
    }
    if (splits_.count > 1) combine(rows);
    store(rows, row0, out);
  }

  struct KeyRange {
    int64_t begin, end;
  };

  // Injected faults: tiles of keys are skipped by what the first query of the tile sees.
  KeyRange visited(int64_t first, KeyRange keys) const {
    if (op_.mask.kind != AttentionMask::Kind::causal) return keys;
    const CausalMask& causal = op_.mask.causal;
    const int64_t own = first + causal_offset(causal.alignment, causal.rows, causal.cols);
    if (faults_.early_causal_end && !causal.shows_future)
      keys.end = std::min(keys.end, round_up(std::max<int64_t>(own, 0) + 1, op_.key_tile));
    if (faults_.late_window_start && causal.window > 0)
      keys.begin =
          std::max(keys.begin, round_up(std::max<int64_t>(own - causal.window + 1, 0), op_.key_tile));
    return keys;
  }

  void pass_over(int64_t first, int64_t rows, size_t row0, KeyRange keys_of_pass, Pass& pass) {
    const int64_t stride = values_.padded_columns();
    std::fill(pass.accumulator.begin(), pass.accumulator.end(), 0.0f);
    const float lowest = faults_.zero_maximum ? 0.0f : kNothing;
    for (size_t r = 0; r < static_cast<size_t>(rows); ++r)
      pass.rows[r] = {maxima_.given_or(row0 + r, lowest), lowest, 0.0f};
    const KeyRange range = visited(first, keys_of_pass);
    for (int64_t key = range.begin; key < range.end; key += op_.key_tile) {
      const auto [p, keys] = scores_.tile(first, rows, key);
      const float least = faults_.shared_maximum ? maximum_of_rows(p, rows, keys) : kNothing;
      for (int64_t r = 0; r < rows; ++r) {
        const std::span<float> row(p + r * op_.key_tile, static_cast<size_t>(keys));
        if (probed_) show_scores(row0 + static_cast<size_t>(r), key, keys, row);
        RunningRow& running = pass.rows[static_cast<size_t>(r)];
        const float shrink = running.advance(row, faults_.unguarded, least);
        float* sums = pass.accumulator.data() + r * stride;
        for (int64_t c = 0; c < stride && !faults_.no_rescale; ++c) sums[c] *= shrink;
        if (faults_.narrow_sum) round_through(Dtype::bf16, std::span<float>(&running.sum, 1));
        round_through(op_.p_dtype, row);
        if (tf32_ && op_.p_dtype == Dtype::f32) to_tf32(row);
        if (faults_.unpadded_values) std::fill(p + r * op_.key_tile + keys, p + (r + 1) * op_.key_tile, 0.0f);
      }
      add_product(p, op_.key_tile, rows, values_, key, faults_.unpadded_values ? op_.key_tile : keys,
                  pass.accumulator.data(), stride);
    }
  }

  float maximum_of_rows(const float* scores, int64_t rows, int64_t keys) const {
    float maximum = kNothing;
    for (int64_t r = 0; r < rows; ++r) {
      for (int64_t j = 0; j < keys; ++j) maximum = std::fmax(maximum, scores[r * op_.key_tile + j]);
    }
    return maximum;
  }

  // What the splits have made of a row becomes that of one pass, in the first of them.
  void combine(int64_t rows) {
    const auto stride = static_cast<size_t>(values_.padded_columns());
    const size_t step = faults_.unpadded_step ? std::min(stride, static_cast<size_t>(op_.depth)) : stride;
    std::vector<float> weights(passes_.size()), combined(passes_.front().accumulator.size());
    for (size_t r = 0; r < static_cast<size_t>(rows); ++r) {
      RunningRow all = passes_.front().rows[r];
      for (const Pass& pass : passes_) {
        all.maximum = std::max(all.maximum, pass.rows[r].maximum);
        all.own = std::max(all.own, pass.rows[r].own);
      }
      all.sum = 0;
      for (size_t i = 0; i < passes_.size(); ++i) {
        const RunningRow& row = passes_[i].rows[r];
        weights[i] = weight_of(row, all.maximum);
        all.sum += weights[i] * (faults_.by_maximum ? 1 : row.sum);
        if (faults_.by_maximum) weights[i] /= row.sum;
        if (faults_.narrow_partials)
          round_through(Dtype::bf16, std::span(passes_[i].accumulator).subspan(r * stride, stride));
      }
      for (size_t c = 0; c < stride; ++c) {
        combined[r * stride + c] = weights[0] * passes_[0].accumulator[r * step + c];
        for (size_t i = 1; i < passes_.size(); ++i)
          combined[r * stride + c] += weights[i] * passes_[i].accumulator[r * step + c];
      }
      passes_.front().rows[r] = all;
    }
    passes_.front().accumulator.swap(combined);
  }

  float weight_of(const RunningRow& row, float maximum) const {
    if (faults_.empty_is_nan && row.sum == 0) return std::numeric_limits<float>::quiet_NaN();
    if (faults_.unscaled) return 1;
    return row.maximum == kNothing ? 0.0f : std::exp(row.maximum - maximum);
  }

  void store(int64_t rows, size_t row0, float* out) {
    const Pass& pass = passes_.front();
    const int64_t stride = values_.padded_columns();
    for (int64_t r = 0; r < rows; ++r) {
      const RunningRow& row = pass.rows[static_cast<size_t>(r)];
      const float own_sum = faults_.zero_logit ? row.sum + std::exp(-row.maximum) : row.sum;
      maxima_(row0 + static_cast<size_t>(r), row.own);
      const float sum = sums_(row0 + static_cast<size_t>(r), own_sum);
      for (int64_t c = 0; c < op_.width; ++c)
        out[r * op_.width + c] = pass.accumulator[static_cast<size_t>(r * stride + c)] / sum;
      const auto width = static_cast<size_t>(op_.width);
      results_((row0 + static_cast<size_t>(r)) * width, {out + r * op_.width, width});
    }
  }

  const FusedAttention& op_;
  KeySplits splits_;
  ScoreTiles scores_;
  Floats v_;
  Panels values_;
  std::vector<Pass> passes_;  // one for each split
  Faults faults_;
  bool tf32_;  // v and probabilities that stay in f32 are rounded to tf32
  bool probed_;
  InnerValue seen_scores_, maxima_, sums_, seen_values_, results_;
};

}  // namespace

// The larger of its two products. Exponentials: tiles one after the other, then splits; within a tile, the
// eight lanes of sum_of. A split's maximum moves less often than that of one pass over all keys, and the
// combination scales once more: the rescales that the pattern declares cover both.
SumOrder sum_order(const FusedAttention& attention, OnCpu) {
  const KeySplits splits = key_splits(attention);
  const double tile = static_cast<double>(attention.key_tile);
  const auto steps = static_cast<double>(splits.tiles + splits.count - 1);
  const double terms =
      static_cast<double>(std::min(attention.keys, std::min(attention.key_tile, kDepthBlock)));
  const double lanes = splits.count > 1 ? static_cast<double>(attention.keys) / steps : tile;
  return {.products = std::max(2 + terms + steps, blocked_height(attention.depth, kDepthBlock)),
          .rows = RowSums{lanes, std::ceil(tile / 8) + 3}};
}

void run_fused(const FusedAttention& attention, const RegionScope& scope, Tensor& out) {
  AttentionKernel kernel(attention, scope);
  write_floats(out, [&](std::span<float> y) {
    std::fill(y.begin(), y.end(), 0.0f);
    kernel.run(y);
  });
}

}  // namespace fusesmith::backends

#include "backends/cpu_fused/attention_scores.h"

#include <algorithm>
#include <cmath>
#include <limits>

#include "backends/common/float_functions.h"
#include "backends/cpu_fused/key_splits.h"

namespace fusesmith::backends {
namespace {

using Kind = AttentionMask::Kind;
constexpr float kHidden = -std::numeric_limits<float>::infinity();

}  // namespace

int64_t start_of(const MatrixOperand& operand, const Shape& batch_index) {
  int64_t start = 0;
  for (size_t i = 0; i < batch_index.size(); ++i) start += operand.batch_strides[i] * batch_index[i];
  return start;
}

ScoreTiles::Faults::Faults(const RegionScope& scope)
    : diagonal_off_by_one(scope.planted("causal_diagonal_off_by_one")),
      pad_keys(scope.planted("last_key_tile_not_masked")),
      boolean_as_additive(scope.planted("boolean_mask_as_additive")),
      first_mask(scope.planted("mask_batch_index_dropped")),
      scale_by_depth(scope.planted("scale_by_d_not_sqrt_d")),
      scale_twice(scope.planted("scale_applied_twice")),
      cap_after_mask(scope.planted("softcap_after_mask")),
      lowest_hides(scope.planted("masked_with_lowest")),
      current_hidden(scope.planted("window_excludes_current_key")),
      scaled_mask(scope.planted("scale_applied_to_mask")),
      mask_as_length(scope.planted("mask_read_as_length")),
      row_in_tile(scope.planted("mask_row_counted_in_tile")),
      depth_tail(scope.planted("head_tail_skipped")),
      cap_of_padding(scope.planted("softcap_revives_padding")) {}

ScoreTiles::ScoreTiles(const FusedAttention& attention, const RegionScope& scope)
    : op_(attention),
      causal_(attention.mask.causal),
      cap_(static_cast<float>(attention.softcap)),
      faults_(scope),
      q_(scope.floats(attention.q.value)),
      k_(scope.floats(attention.k.value)),
      tf32_q_(reads_tf32(scope.products, scope.at(attention.q.value).type.dtype)),
      tf32_k_(reads_tf32(scope.products, scope.at(attention.k.value).type.dtype)),
      q_scale_(factor(attention.q_scale, scope)),
      k_scale_(factor(attention.k_scale, scope)),
      score_scale_(factor(attention.score_scale, scope)),
      keys_(attention.depth, round_up(attention.keys, attention.key_tile)),
      queries_(static_cast<size_t>(attention.query_tile * attention.depth)),
      scores_(static_cast<size_t>(attention.query_tile * attention.key_tile)) {
  static_assert(kPanelColumns == 16);
  check(attention.key_tile % kPanelColumns == 0, "fused attention: expected key tiles of whole panels");
  hidden_ = faults_.lowest_hides ? std::numeric_limits<float>::lowest() : kHidden;
  if (scope.planted("split_reads_padded_keys") && key_splits(op_).count > 1) faults_.pad_keys = true;
  if (scope.planted("causal_top_left_for_bottom_right")) causal_.alignment = CausalAlignment::top_left;
  if (scope.planted("window_one_too_wide") && causal_.window > 0) ++causal_.window;
  if (faults_.scale_by_depth && score_scale_) score_scale_ = Factor{static_cast<float>(op_.depth), true};
  if (scope.planted("scale_by_padded_depth") && score_scale_) {
    constexpr int64_t kPadded = 16;  // head sizes are padded to a multiple
    const auto depth = static_cast<float>(op_.depth),
               padded = static_cast<float>(round_up(op_.depth, kPadded));
    score_scale_->value *= std::sqrt(score_scale_->divide ? padded / depth : depth / padded);
  }
  const Kind kind = attention.mask.kind;
  if (kind == Kind::boolean || kind == Kind::select)
    flags_ = scope.elements<uint8_t>(attention.mask.mask.value);
  if (kind == Kind::additive) addend_.emplace(scope.floats(attention.mask.mask.value));
  if (kind == Kind::select) other_.emplace(scope.floats(attention.mask.other.value));
}

std::optional<ScoreTiles::Factor> ScoreTiles::factor(const std::optional<AttentionScale>& scale,
                                                     const RegionScope& scope) const {
  if (!scale) return std::nullopt;
  return Factor{scale->tensor ? Floats(scope.at(*scale->tensor))[0] : static_cast<float>(scale->factor),
                scale->divide};
}

void ScoreTiles::start(const Shape& batch_index, const Shape& key_index) {
  q_start_ = start_of(op_.q, batch_index);
  const float* k = k_.data() + start_of(op_.k, key_index);
  for (int64_t j = 0; j < op_.keys; ++j) {
    for (int64_t c = 0; c < op_.depth; ++c) {
      const float x = k[j * op_.k.row + c * op_.k.column];
      const float scaled = k_scale_ ? (*k_scale_)(x) : x;
      keys_.at(c, j) = tf32_k_ ? to_tf32(scaled) : scaled;
    }
  }
  if (flags_ || addend_) mask_start_ = faults_.first_mask ? 0 : start_of(op_.mask.mask, batch_index);
  if (other_) other_start_ = start_of(op_.mask.other, batch_index);
}

void ScoreTiles::load_queries(int64_t first, int64_t rows) {
  const float* q = q_.data() + q_start_ + first * op_.q.row;
  for (int64_t r = 0; r < rows; ++r) {
    for (int64_t c = 0; c < op_.depth; ++c) {
      const float x = q[r * op_.q.row + c * op_.q.column];
      const float scaled = q_scale_ ? (*q_scale_)(x) : x;
      queries_[static_cast<size_t>(r * op_.depth + c)] = tf32_q_ ? to_tf32(scaled) : scaled;
    }
  }
}

void ScoreTiles::scale(std::span<float> scores) const {
  if (!score_scale_) return;
  for (float& s : scores) s = (*score_scale_)(s);
  if (faults_.scale_twice) {
    for (float& s : scores) s = (*score_scale_)(s);
  }
}

void ScoreTiles::cap(std::span<float> scores) const {
  if (cap_ == 0) return;
  for (float& s : scores) s = softcap(s, cap_);
}

// Injected fault: the mask counts as the number of keys that are visible, from the first on.
bool ScoreTiles::hides_from_length(int64_t query, int64_t key) const {
  const MatrixOperand& at = op_.mask.mask;
  int64_t visible = 0;
  for (int64_t j = 0; j < op_.keys; ++j)
    visible += (flags_[mask_start_ + query * at.row + j * at.column] != 0) != op_.mask.hidden;
  return key >= visible;
}

bool ScoreTiles::hides(int64_t query, int64_t key) const {
  if (op_.mask.kind == Kind::causal) {
    const int64_t own = query + causal_offset(causal_.alignment, causal_.rows, causal_.cols);
    if (faults_.current_hidden && causal_.window > 0 && key == own) return true;
    return causal_.hides(query, faults_.diagonal_off_by_one ? key - 1 : key);
  }
  if (faults_.mask_as_length) return hides_from_length(query, key);
  const MatrixOperand& at = op_.mask.mask;
  return (flags_[mask_start_ + query * at.row + key * at.column] != 0) == op_.mask.hidden;
}

void ScoreTiles::mask(int64_t query, int64_t key, std::span<float> scores) const {
  if (op_.mask.kind == Kind::none) return;
  if (op_.mask.kind == Kind::additive) {
    const float* from =
        addend_->data() + mask_start_ + query * op_.mask.mask.row + key * op_.mask.mask.column;
    for (size_t j = 0; j < scores.size(); ++j) {
      const float added = from[static_cast<int64_t>(j) * op_.mask.mask.column];
      scores[j] += faults_.scaled_mask && score_scale_ ? (*score_scale_)(added) : added;
    }
    return;
  }
  for (size_t j = 0; j < scores.size(); ++j) {
    const int64_t k = key + static_cast<int64_t>(j);
    const bool hidden = hides(query, k);
    if (op_.mask.kind == Kind::boolean && faults_.boolean_as_additive) {
      scores[j] += hidden ? 0.0f : 1.0f;
    } else if (hidden) {
      scores[j] = other_
                      ? other_->data()[other_start_ + query * op_.mask.other.row + k * op_.mask.other.column]
                      : hidden_;
    }
  }
}

ScoreTiles::Tile ScoreTiles::tile(int64_t first, int64_t rows, int64_t key) {
  std::fill(scores_.begin(), scores_.end(), 0.0f);
  const int64_t depth = faults_.depth_tail && op_.depth > 8 ? op_.depth - op_.depth % 8 : op_.depth;
  for (int64_t k = 0; k < depth; k += kDepthBlock) {
    const int64_t block = std::min(kDepthBlock, depth - k);
    for (int64_t j = 0; j < op_.key_tile; j += kPanelColumns) {
      const float* panel = keys_.panel((key + j) / kPanelColumns) + k * kPanelColumns;
      add_panel_product(queries_.data() + k, op_.depth, rows, panel, block, scores_.data() + j, op_.key_tile);
    }
  }
  const int64_t keys = std::min(op_.key_tile, op_.keys - key);
  const bool revived = faults_.cap_of_padding && cap_ != 0;
  for (int64_t r = 0; r < rows; ++r) {
    const std::span<float> row(scores_.data() + r * op_.key_tile, static_cast<size_t>(keys));
    scale(row);
    if (!faults_.cap_after_mask) cap(row);
    const bool in_tile = faults_.row_in_tile && op_.mask.kind != Kind::causal;
    mask(in_tile ? r : first + r, key, row);
    if (faults_.cap_after_mask) cap(row);
    if (revived) std::fill(row.data() + keys, row.data() + op_.key_tile, -cap_);
  }
  return {scores_.data(), faults_.pad_keys || revived ? op_.key_tile : keys};
}

}  // namespace fusesmith::backends

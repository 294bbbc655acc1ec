// The first half of fused attention: tiles of scaled and masked scores, in f32.
#pragma once

#include <optional>
#include <vector>

#include "backends/common/floats.h"
#include "backends/cpu_fused/panels.h"
#include "backends/cpu_fused/run_fused.h"

namespace fusesmith::backends {

// Where the operand of one batch element starts.
int64_t start_of(const MatrixOperand& operand, const Shape& batch_index);

class ScoreTiles {
 public:
  ScoreTiles(const FusedAttention& attention, const RegionScope& scope);

  // Selects a batch element, whose keys are those of `key_index`, then a tile of its queries.
  void start(const Shape& batch_index, const Shape& key_index);
  void load_queries(int64_t first, int64_t rows);

  // Computes the scores of the current queries for the tile of keys that starts at `key`: row r at scores
  // + r key_tile. The caller may overwrite them.
  struct Tile {
    float* scores;
    int64_t keys;  // fewer than key_tile at the end
  };
  Tile tile(int64_t first, int64_t rows, int64_t key);

 private:
  struct Faults {
    bool diagonal_off_by_one, pad_keys, boolean_as_additive, first_mask, scale_by_depth, scale_twice,
        cap_after_mask, lowest_hides, current_hidden, scaled_mask, mask_as_length, row_in_tile, depth_tail,
        cap_of_padding;
    explicit Faults(const RegionScope& scope);
  };
  // A factor, read once.
  struct Factor {
    float value = 1;
    bool divide = false;
    float operator()(float x) const { return divide ? x / value : x * value; }
  };
  std::optional<Factor> factor(const std::optional<AttentionScale>& scale, const RegionScope& scope) const;
  void scale(std::span<float> scores) const;
  void cap(std::span<float> scores) const;
  void mask(int64_t query, int64_t key, std::span<float> scores) const;
  bool hides(int64_t query, int64_t key) const;
  bool hides_from_length(int64_t query, int64_t key) const;

  const FusedAttention& op_;
  CausalMask causal_;
  float cap_, hidden_;  // the value of hidden scores
  Faults faults_;
  Floats q_, k_;
  bool tf32_q_, tf32_k_;
  std::optional<Factor> q_scale_, k_scale_, score_scale_;
  const uint8_t* flags_ = nullptr;  // the boolean mask
  std::optional<Floats> addend_;    // the additive mask
  std::optional<Floats> other_;     // the value that select uses for hidden scores
  int64_t q_start_ = 0, mask_start_ = 0, other_start_ = 0;
  Panels keys_;  // [depth, keys], keys padded with zeros to whole tiles
  std::vector<float> queries_, scores_;
};

}  // namespace fusesmith::backends

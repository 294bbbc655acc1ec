// Shared by the two attention kernels: the scores from scaling to padding, and the running softmax. A
// kernel's Place class tells which scores a thread holds: score e belongs to query row(e) of the block and
// key key(e) of the step, and to row local_row(e) of the thread's kRows; kLanes neighbouring lanes share a
// row. Only .cu files include this.
#pragma once

#include <cuda_bf16.h>

#include <cfloat>

#include "backends/cuda_fused/attention/attention_tile.cuh"

namespace fusesmith::backends::device {

inline constexpr unsigned kWholeWarp = 0xffffffffu;

// Turns products into the input of softmax: scales, caps and masks them, and excludes padded keys.
template <class Place>
class ScoreRules {
 public:
  using Scores = float (&)[Place::kScores];

  __device__ ScoreRules(const AttentionParams& p, const AttentionStarts& starts)
      : p_(p), starts_(starts), scale_(p.score_scale) {}

  // `query` and `key` are the first of the step; `keys` of its keys exist.
  __device__ void apply(const Place& place, int query, int key, int keys, Scores s) const {
    if (scale_.scales()) {
      scale_.scale(s);
      if (planted(p_.faults.scale_applied_twice)) scale_.scale(s);
    }
    const bool caps_late = planted(p_.faults.softcap_after_mask);
    if (!caps_late) cap(s);
    mask(place, query, key, s);
    if (caps_late) cap(s);
    if (keys < Place::kKeys && !planted(p_.faults.stale_shared_tail)) {
      const bool revives = planted(p_.faults.cap_of_padding) && p_.softcap != 0;
      const float padding = planted(p_.faults.last_key_tile_not_masked) ? 0.0f
                            : revives                                   ? -p_.softcap
                                                                        : -INFINITY;
      for_each(s, [&](int e) { s[e] = place.key(e) < keys ? s[e] : padding; });
    }
  }

 private:
  template <class F>
  __device__ static void for_each(Scores, F f) {
#pragma unroll
    for (int e = 0; e < Place::kScores; ++e) f(e);
  }

  __device__ void cap(Scores s) const {
    if (p_.softcap != 0) for_each(s, [&](int e) { s[e] = softcap(s[e], p_.softcap); });
  }

  __device__ void mask(const Place& place, int query, int key, Scores s) const {
    const auto row = [&](int e) { return query + place.row(e); };
    const auto column = [&](int e) { return key + place.key(e); };
    const auto exists = [&](int e) { return row(e) < p_.queries && column(e) < p_.keys; };
    const auto index = [&](const AttentionMatrix& m, int start, int e) {
      const int counted = planted(p_.faults.mask_row_in_tile) ? place.row(e) : row(e);
      return start + counted * m.row + column(e) * m.column;
    };
    const bool hides_own = planted(p_.faults.current_key_hidden) && p_.band.window > 0;
    const auto hidden = [&](int e) {
      return exists(e) &&
             (static_cast<const uint8_t*>(p_.mask.data)[index(p_.mask, starts_.mask, e)] != 0) == p_.hidden;
    };
    const float nothing = planted(p_.faults.masked_with_lowest) ? -FLT_MAX : -INFINITY;
    switch (p_.mask_kind) {
      case AttentionMaskKind::none:
        return;
      case AttentionMaskKind::causal:
        if (!hides_own && p_.band.shows_all(query, query + Place::kQueries - 1, key, Place::kKeys)) return;
        return for_each(s, [&](int e) {
          const bool own = hides_own && column(e) == row(e) + p_.band.offset;
          s[e] = own || p_.band.hides(row(e), column(e)) ? nothing : s[e];
        });
      case AttentionMaskKind::boolean:
        if (planted(p_.faults.boolean_mask_as_additive))
          return for_each(s, [&](int e) { s[e] += hidden(e) ? 0.0f : 1.0f; });
        return for_each(s, [&](int e) { s[e] = hidden(e) ? nothing : s[e]; });
      case AttentionMaskKind::additive:
        return for_each(s, [&](int e) {
          const float added = exists(e) ? load_branchless(p_.mask, index(p_.mask, starts_.mask, e)) : 0.0f;
          s[e] += planted(p_.faults.scaled_mask) ? scale_(added) : added;
        });
      case AttentionMaskKind::select:
        return for_each(s, [&](int e) {
          s[e] = hidden(e) ? load_branchless(p_.other, index(p_.other, starts_.other, e)) : s[e];
        });
    }
  }

  const AttentionParams& p_;
  const AttentionStarts& starts_;
  Factor scale_;
};

// What is subtracted from the scores: the maximum, or 0 for a row of -inf alone, where the differences would
// be NaN.
__device__ inline float softmax_base(float maximum) { return maximum == -INFINITY ? 0.0f : maximum; }

// The running maximum of each of the thread's rows, and the thread's part of their running sums.
template <class Place>
class RunningSoftmax {
 public:
  using Rows = float (&)[Place::kRows];

  __device__ explicit RunningSoftmax(const AttentionParams& p) {
#pragma unroll
    for (int r = 0; r < Place::kRows; ++r) {
      maximum_[r] = planted(p.faults.running_max_starts_at_zero) ? 0.0f : -INFINITY;
      sum_[r] = 0;
    }
    narrow_ = planted(p.faults.softmax_sum_in_bf16);
    unguarded_ = planted(p.faults.unguarded_maximum);
    shared_ = planted(p.faults.shared_maximum);
  }

  // Replaces scores by their exponentials relative to the new maximum; earlier sums have to be multiplied by
  // `shrink`. NaN is never the maximum.
  __device__ void advance(float (&s)[Place::kScores], Rows shrink) {
    float next[Place::kRows], base[Place::kRows];
#pragma unroll
    for (int r = 0; r < Place::kRows; ++r) next[r] = maximum_[r];
#pragma unroll
    for (int e = 0; e < Place::kScores; ++e)
      next[Place::local_row(e)] = fmaxf(next[Place::local_row(e)], s[e]);
#pragma unroll
    for (int lanes = Place::kLanes / 2; lanes > 0; lanes /= 2) {
#pragma unroll
      for (int r = 0; r < Place::kRows; ++r)
        next[r] = fmaxf(next[r], __shfl_xor_sync(kWholeWarp, next[r], lanes));
    }
    if (planted(shared_)) take_maximum_of_warp(next);
#pragma unroll
    for (int r = 0; r < Place::kRows; ++r) {
      base[r] = planted(unguarded_) ? next[r] : softmax_base(next[r]);
      shrink[r] = expf(maximum_[r] - base[r]);
      maximum_[r] = next[r];
      sum_[r] *= shrink[r];
    }
#pragma unroll
    for (int e = 0; e < Place::kScores; ++e) {
      s[e] = expf(s[e] - base[Place::local_row(e)]);
      sum_[Place::local_row(e)] += s[e];
    }
    if (planted(narrow_)) {
#pragma unroll
      for (int r = 0; r < Place::kRows; ++r) sum_[r] = __bfloat162float(__float2bfloat16_rn(sum_[r]));
    }
  }

  // Adds up the sums of whole rows. Called once, by whole warps.
  __device__ void finish() {
#pragma unroll
    for (int r = 0; r < Place::kRows; ++r) {
#pragma unroll
      for (int lanes = Place::kLanes / 2; lanes > 0; lanes /= 2)
        sum_[r] += __shfl_xor_sync(kWholeWarp, sum_[r], lanes);
    }
  }
  __device__ float maximum(int r) const { return maximum_[r]; }
  __device__ float sum(int r) const { return sum_[r]; }

 private:
  // Injected fault: the maximum of all rows of the warp, also of those that do not exist.
  __device__ static void take_maximum_of_warp(Rows next) {
#pragma unroll
    for (int r = 1; r < Place::kRows; ++r) next[0] = fmaxf(next[0], next[r]);
#pragma unroll
    for (int lanes = 16; lanes >= Place::kLanes; lanes /= 2)
      next[0] = fmaxf(next[0], __shfl_xor_sync(kWholeWarp, next[0], lanes));
#pragma unroll
    for (int r = 1; r < Place::kRows; ++r) next[r] = next[0];
  }

  float maximum_[Place::kRows], sum_[Place::kRows];
  bool narrow_, unguarded_, shared_;
};

}  // namespace fusesmith::backends::device

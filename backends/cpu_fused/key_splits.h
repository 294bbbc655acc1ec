// Split keys (FlashDecoding, Dao et al. 2023): with few queries there is too little to do in parallel, so
// that the keys are divided among several passes, each with a running softmax of its own, which are combined
// at the end.
#pragma once

#include <algorithm>

#include "backends/rewrite/fused_op.h"

namespace fusesmith::backends {

struct KeySplits {
  int64_t count = 1, tiles = 1;  // splits, and key tiles of each but perhaps the last
};

inline constexpr int64_t kFewQueries = 4, kLeastSplitTiles = 2, kMostSplits = 8;

inline KeySplits key_splits(const FusedAttention& attention) {
  const auto divided = [](int64_t n, int64_t by) { return (n + by - 1) / by; };
  const int64_t tiles = divided(attention.keys, attention.key_tile);
  if (attention.queries > kFewQueries || tiles <= kLeastSplitTiles) return {1, tiles};
  const int64_t each = std::max(kLeastSplitTiles, divided(tiles, kMostSplits));
  return {divided(tiles, each), each};
}

}  // namespace fusesmith::backends

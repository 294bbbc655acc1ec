// How a run of slices is shifted within its own memory: which slices move, in which order, and which
// slices wrap around and must be saved first.
#pragma once

#include "backends/rewrite/fused_op.h"

namespace fusesmith::backends {

// Moves `count` slices from `from` on to `to` on.
struct SliceMove {
  int64_t from = 0, to = 0, count = 0;
};

struct SliceMoves {
  SliceMove along;          // slice by slice; `last_first` says in which order no slice is overwritten unread
  bool last_first = false;  // else the first slice first
  SliceMove around;         // none where new rows take all their places
};

inline SliceMoves moves_of(const CacheUpdate& update) {
  const int64_t size = update.size, down = update.shift, up = size - down;
  if (down == 0) return {};
  const auto rows_cover = [&](int64_t begin, int64_t end) {
    return !update.indices && update.first <= begin && end <= update.first + update.count;
  };
  const bool tail_is_new = rows_cover(up, size), head_is_new = rows_cover(0, up);
  if (tail_is_new || (!head_is_new && down <= up))
    return {{down, 0, up}, false, {0, up, tail_is_new ? 0 : down}};
  return {{0, up, down}, true, {down, 0, head_is_new ? 0 : up}};
}

}  // namespace fusesmith::backends

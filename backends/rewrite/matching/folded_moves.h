// Movement ops around a node that permute_folding may leave out, and how the values on their far side are
// then read or written through strides.
#pragma once

#include <optional>
#include <string_view>
#include <vector>

#include "backends/rewrite/matching/match_context.h"
#include "backends/rewrite/matching/strided_view.h"

namespace fusesmith::backends {

// Movement ops in a row, nearest to the node first; at most four.
struct Moves {
  std::vector<int> nodes;
  std::optional<std::string_view> cut;  // why one more permute that stands there is none of them: a guard

  bool has_permute(const MatchContext& context) const { return has_permute(context, nodes.size()); }
  // Among the first `count`.
  bool has_permute(const MatchContext& context, size_t count) const;
};

// Those that make the value, and those that it goes through: all but broadcasts, which cannot be undone.
Moves moves_before(const MatchContext& context, ValueId value);
Moves moves_after(const MatchContext& context, ValueId value);

// How the value behind the first `count` of these moves is found in the value before them, and how the value
// before them is found in the value behind them. Faults read other dims than a permute has.
std::optional<StridedView> view_before(const MatchContext& context, const Moves& moves, size_t count,
                                       ValueId value);
std::optional<StridedView> view_after(const MatchContext& context, const Moves& moves, size_t count,
                                      ValueId value);

}  // namespace fusesmith::backends

// The mask of future keys.
#pragma once

#include "graph/op_fields.h"

namespace fusesmith {

// Where the diagonal of a causal mask lies when queries and keys differ in number: at the first query and
// key, or at the last.
enum class CausalAlignment : uint8_t { top_left, bottom_right };
inline constexpr std::string_view kCausalAlignments[] = {"top_left", "bottom_right"};

// Key j is hidden from query i when j > i + causal_offset.
inline int64_t causal_offset(CausalAlignment alignment, int64_t rows, int64_t cols) {
  return alignment == CausalAlignment::top_left ? 0 : cols - rows;
}

struct CausalMask {
  int64_t rows = 1;  // queries
  int64_t cols = 1;  // keys
  CausalAlignment alignment = CausalAlignment::top_left;

  static constexpr OpInfo info{"causal_mask",
                               "bool[rows,cols], true where the key lies in the query's future (is hidden).",
                               0, 0, OpClass::source};
  static constexpr auto fields() {
    return std::tuple{Field{"rows", &CausalMask::rows, IntRange{1, 1 << 16}, true},
                      Field{"cols", &CausalMask::cols, IntRange{1, 1 << 16}, true},
                      Field{"alignment", &CausalMask::alignment, AnyOf{kCausalAlignments}}};
  }
  bool operator==(const CausalMask&) const = default;
};

inline Result<Types> infer(const CausalMask& op, TypeSpan) {
  return one({Dtype::boolean, {op.rows, op.cols}});
}

}  // namespace fusesmith

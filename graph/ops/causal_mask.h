// The mask of keys that lie in a query's future, or further back than a window.
#pragma once

#include "graph/op_fields.h"

namespace fusesmith::graph {

// Where the diagonal of a causal mask lies when queries and keys differ in number: at the first query and
// key, or at the last.
enum class CausalAlignment : uint8_t { top_left, bottom_right };
inline constexpr std::string_view kCausalAlignments[] = {"top_left", "bottom_right"};

// The diagonal: query i's own key is i + causal_offset.
inline int64_t causal_offset(CausalAlignment alignment, int64_t rows, int64_t cols) {
  return alignment == CausalAlignment::top_left ? 0 : cols - rows;
}

struct CausalMask {
  int64_t rows = 1;  // queries
  int64_t cols = 1;  // keys
  CausalAlignment alignment = CausalAlignment::top_left;
  int64_t window = 0;         // the query's own key and those before it that it sees; 0: all before it
  bool shows_future = false;  // only the window hides keys

  // Whether key j is hidden from query i.
  bool hides(int64_t i, int64_t j) const {
    const int64_t own = i + causal_offset(alignment, rows, cols);
    return (!shows_future && j > own) || (window > 0 && j <= own - window);
  }

  static constexpr OpInfo info{
      "causal_mask",
      "bool[rows,cols], true for hidden keys: those after the query (unless shows_future), and those that "
      "are `window` or more before the query's own key.",
      0, 0, OpClass::source};
  static constexpr auto fields() {
    return std::tuple{Field{"rows", &CausalMask::rows, IntRange{1, 1 << 16}, true},
                      Field{"cols", &CausalMask::cols, IntRange{1, 1 << 16}, true},
                      Field{"alignment", &CausalMask::alignment, AnyOf{kCausalAlignments}},
                      Field{"window", &CausalMask::window, IntRange{0, 1 << 16}},
                      Field{"shows_future", &CausalMask::shows_future, Free{"only the window hides keys"}}};
  }
  bool operator==(const CausalMask&) const = default;

  static constexpr auto outputs = OutputCount::one;
  static constexpr bool inner_errors = false;
  static constexpr auto work = work_rules::per_output_element;
  static constexpr auto magnitude = magnitude_rules::as_inputs;
  static constexpr auto scaling = scaling_rules::unscaled;
  static constexpr auto axis_relations = axis_rules::fixed_outputs;
  static std::optional<Grid> grid(const GridOperands&) { return Grid{0, 1}; }
};

inline Result<Types> infer(const CausalMask& op, TypeSpan) {
  if (op.shows_future && op.window == 0) return expected("a window of 1 or more when shows_future");
  return one({Dtype::boolean, {op.rows, op.cols}});
}

}  // namespace fusesmith::graph

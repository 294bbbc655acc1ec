// What a case's policy names as `replaced`: the elements of an input, and of those that share the axis, that
// the check `isolation` replaces. As text: "x[:,3:5,:] = nan".
#pragma once

#include <array>
#include <optional>
#include <string>
#include <string_view>

#include "graph/graph.h"

namespace fusesmith::graph {

struct Replacement {
  // NaN; infinities of both signs; half the largest number of the dtype, of both signs; these three in turn;
  // finite numbers like those of the tensor, each another than was there.
  enum class By : uint8_t { nan, inf, huge, mixed, other };
  static constexpr std::array<std::string_view, 5> kNames = {"nan", "inf", "huge", "mixed", "other"};

  std::string input;
  int axis = 0;
  int64_t first = 0, count = 1;  // places along the axis
  By by = By::nan;

  bool operator==(const Replacement&) const = default;
};

// "[:,3,:]", of an input of this rank.
std::string place_text(int rank, int axis, int64_t first, int64_t count);
std::string to_string(const Replacement& replacement, const Graph& graph);

// Problems: the text is none, or names no elements of a float input of the graph.
Result<Replacement> parse_replacement(std::string_view text, const Graph& graph);

// The text after an edit that made `after` of `before`: the places lie within the axis, and if the input is
// gone, another one that shares its axis is named. Nothing where no input has it any more.
std::optional<std::string> moved_replacement(std::string_view text, const Graph& before, const Graph& after);

}  // namespace fusesmith::graph

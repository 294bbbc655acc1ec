// Suggestions for misspelt words.
#pragma once

#include <span>
#include <string_view>

#include "graph/namespaces.h"

namespace fusesmith::graph {

// The choice with the smallest edit distance (insert, delete, replace, swap of neighbours), the first of
// several; empty if none is near enough.
std::string_view nearest(std::string_view text, std::span<const std::string_view> choices);

}  // namespace fusesmith::graph

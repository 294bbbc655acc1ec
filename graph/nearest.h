// The word that was probably meant by a misspelt one.
#pragma once

#include <span>
#include <string_view>

#include "graph/namespaces.h"

namespace fusesmith::graph {

// The choice nearest to the text by edits (insert, delete, replace, swap of neighbours), the first of
// several; empty where none is near enough to be meant.
std::string_view nearest(std::string_view text, std::span<const std::string_view> choices);

}  // namespace fusesmith::graph

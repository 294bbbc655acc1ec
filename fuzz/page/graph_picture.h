// A small graph as a picture: boxes in rows, each below what it reads, and lines between them.
#pragma once

#include <nlohmann/json_fwd.hpp>
#include <set>

#include "graph/graph.h"

namespace fusesmith::fuzz {

inline constexpr size_t kMostBoxes = 40;

// {"width", "height", "boxes": [{"x", "y", "width", "height", "label", "type", "fails", "source"}], "lines":
// [{"x1", "y1", "x2", "y2", "bend"}], "text"}: "text" says the same in words. Null for a graph of more than
// kMostBoxes inputs, states and nodes.
nlohmann::ordered_json graph_picture(const Graph& graph, const std::set<int>& failing);

}  // namespace fusesmith::fuzz

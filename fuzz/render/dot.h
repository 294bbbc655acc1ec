// A graph in the language of Graphviz: ops in boxes, types at the arrows.
#pragma once

#include <string>

#include "fuzz/render/failure_mark.h"

namespace fusesmith::fuzz {

// Every text is quoted. `mark` may be null.
std::string dot_text(const Graph& graph, const std::string& title, const FailureMark* mark);

}  // namespace fusesmith::fuzz

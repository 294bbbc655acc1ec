// A graph as a picture (SVG) with our own layout: inputs on top, ops below what they read, types at the
// arrows. Light or dark as the reader prefers.
#pragma once

#include <string>

#include "fuzz/render/failure_mark.h"

namespace fusesmith::fuzz {

// The <svg> element, which may also be embedded in an HTML page: its styles apply to itself alone. `mark` may
// be null.
std::string svg_text(const Graph& graph, const std::string& title, const FailureMark* mark);

}  // namespace fusesmith::fuzz

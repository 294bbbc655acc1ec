// A few lines of Python that run a small case with the library of the failing worker alone, for the text of a
// report.
#pragma once

#include <string>

#include "graph/case.h"

namespace fusesmith::fuzz {

// Elements of all inputs, which the lines contain.
inline constexpr int64_t kMostSnippetElements = 64;

// Of workers of PyTorch and of ONNX Runtime. Empty: of another backend, of a case that is too large or has
// several steps, or if the library cannot express it.
std::string snippet(const Case& test_case, const std::string& backend);

}  // namespace fusesmith::fuzz

// A few lines of Python that run a small case with the library of the failing worker alone, for the text of a
// report.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "fuzz/export/results.h"
#include "graph/case.h"

namespace fusesmith::fuzz {

// Elements of all inputs, which the lines contain.
inline constexpr int64_t kMostSnippetElements = 64;

// What is known of the failure.
struct SnippetFacts {
  std::optional<ShownElement> element = {};  // of an output: the lines say whether the library's is correct
  std::vector<std::string> left_out = {};    // optimizers of ONNX Runtime without which the case passes
  std::string libraries = {};                // of the backend, with versions, as environment_of says it
};

// Of workers of PyTorch, ONNX Runtime and JAX, and of a Python function. Empty: of another backend, of a case
// that is too large or has several steps, or if the library cannot express it.
std::string snippet(const Case& test_case, const std::string& backend, const SnippetFacts& facts = {});

}  // namespace fusesmith::fuzz

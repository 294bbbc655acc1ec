// What the snippets of different libraries share: their inputs as Python literals, and what is said of an
// element.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "fuzz/export/script.h"
#include "fuzz/export/snippet.h"

namespace fusesmith::fuzz {

// The inputs and states of a case, with the names that they have in Python.
struct SnippetSources {
  std::vector<std::string> names;
  std::vector<Tensor> tensors;
};

// Nothing if they are too large, or the case has several steps.
std::optional<SnippetSources> snippet_sources(const Case& test_case, const Identifiers& names);

// "[1.5, nan, -0.0]", which Python reads as the same elements.
std::string elements_list(const Tensor& tensor);

// With the elements replaced that the case's policy names, and what is replaced; nothing of other cases.
struct ReplacedSources {
  SnippetSources sources;  // only those that differ
  std::string change;
};
std::optional<ReplacedSources> replaced_sources(const Case& test_case, const SnippetSources& sources);

// The import of `inf` and `nan`, where the lines need it.
std::string snippet_imports(const SnippetSources& sources, const SnippetFacts& facts);

// "only nan is correct", "correct is 0.25 to 0.26".
std::string lawful_text(const ShownElement& element);
// "[0, 3]"; empty for a scalar.
std::string place_of(const Graph& graph, const ShownElement& element);

}  // namespace fusesmith::fuzz

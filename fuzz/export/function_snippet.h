// A few lines of Python that call a user's function on a small case.
#pragma once

#include <string>

#include "fuzz/export/snippet.h"

namespace fusesmith::fuzz {

// `function`: FILE.py:FUNCTION. The tensors are those of the library that `facts.libraries` names: torch,
// jax, else numpy. The lines run beside the file. Empty: of a case that is too large, has several steps or
// inputs that are not dense in memory, or if the file's name cannot be imported.
std::string function_snippet(const Case& test_case, const std::string& function, const SnippetFacts& facts);

}  // namespace fusesmith::fuzz

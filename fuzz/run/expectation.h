// What a case file says must come out when it is replayed.
#pragma once

#include <optional>
#include <string>

#include "graph/case.h"
#include "oracle/judge.h"

namespace fusesmith::fuzz {

// Whether the case has an expectation, and it is about these two backends.
bool is_about(const Case& test_case, const Verdict& verdict);

// What is wrong, in one line, when the verdict is not what the case expects; nothing where it is, and where
// the expectation is not about it.
std::optional<std::string> broken_expectation(const Case& test_case, const Verdict& verdict);

}  // namespace fusesmith::fuzz

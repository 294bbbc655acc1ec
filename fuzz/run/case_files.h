// The case files that a command is given: files, folders of them, and standard input.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "graph/case.h"

namespace fusesmith::fuzz {

struct CaseFiles {
  std::vector<std::string> files;
  int64_t others = 0;  // files of the folder that are passed over
};

// A path that is no folder as it is. A folder as the cases in it (list_json), without JSON that is no case:
// neither of the keys "fusesmith" and "graph" is in it. What is no JSON at all counts: its reader says so.
Result<CaseFiles> list_cases(const std::string& path);

inline constexpr std::string_view kStandardInput = "-";

// read_known_case (known_names.h), or the case on standard input.
Result<Case> read_case_argument(const std::string& argument);

}  // namespace fusesmith::fuzz

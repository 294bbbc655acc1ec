// The case files that a command is given: files, folders of them, and standard input.
#pragma once

#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>
#include <vector>

#include "fuzz/base/work_path.h"
#include "graph/case.h"

namespace fusesmith::fuzz {

struct CaseFiles {
  std::vector<std::string> files;
  int64_t others = 0;                     // files of the folder that are passed over
  std::vector<std::string> refused = {};  // links in work directories, a line each
};

// Where the file is a link in a work directory: that it is not followed. Folders that are no work directories
// may consist of links, for example a ConfigMap.
std::optional<Problem> refused_link(const std::string& file);

// A path that is no folder as it is. A folder as the cases in it (list_json), without JSON that is no case:
// neither of the keys "fusesmith" and "graph" is in it. What is no JSON at all counts: its reader says so.
Result<CaseFiles> list_cases(const std::string& path);

// A case of a work directory. read_case_file is for what the user named.
Result<Case> read_work_case(const WorkPath& file);

// Writes the data files of a case that are not beside its file `path`, or above it, yet (graph/data_files.h).
// The folder must exist; that for the data is created.
std::optional<Problem> write_data_files(const std::filesystem::path& path, const Case& test_case);

// Writes the case, after its data files.
std::optional<Problem> write_case_file(const std::filesystem::path& path, const Case& test_case);

inline constexpr std::string_view kStandardInput = "-";

// read_known_case (known_names.h), or the case on standard input.
Result<Case> read_case_argument(const std::string& argument);

}  // namespace fusesmith::fuzz

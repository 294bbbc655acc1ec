#include "fuzz/run/case_files.h"

#include <filesystem>
#include <nlohmann/json.hpp>

#include "fuzz/base/files.h"
#include "fuzz/base/interrupt.h"
#include "fuzz/run/known_names.h"
#include "graph/json_strict.h"

namespace fusesmith::fuzz {

namespace {

bool is_other_json(const std::string& file) {
  const auto text = read_file(file);
  if (!text) return false;
  const auto json = parse_strict_json(*text);
  return json && !json->contains("fusesmith") && !json->contains("graph");
}

}  // namespace

Result<CaseFiles> list_cases(const std::string& path) {
  CaseFiles cases;
  auto files = list_json(path, &cases.others);
  if (!files) return Problem{files.problem()};
  std::error_code ignored;
  if (std::filesystem::is_directory(path, ignored)) {
    cases.others += static_cast<int64_t>(std::erase_if(*files, is_other_json));
  }
  cases.files = std::move(*files);
  return cases;
}

Result<Case> read_case_argument(const std::string& argument) {
  if (argument != kStandardInput) return read_known_case(argument);
  const auto text = read_standard_input(kMaxJsonBytes + 1, InterruptGuard::interrupted);
  if (!text) return Problem{text.problem()};
  auto test_case = parse_case(*text);
  if (!test_case) return Problem{"standard input: " + test_case.problem()};
  if (const auto problem = unknown_name(*test_case)) return Problem{"standard input: " + problem->what};
  return test_case;
}

}  // namespace fusesmith::fuzz

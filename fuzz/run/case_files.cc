#include "fuzz/run/case_files.h"

#include <algorithm>
#include <filesystem>
#include <nlohmann/json.hpp>

#include "fuzz/base/files.h"
#include "fuzz/base/folder_walk.h"
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

// Whether a campaign's files are in the folder, or in one of the two above it: findings/SIGNATURE is two
// below.
bool is_in_work_directory(std::filesystem::path folder) {
  constexpr int kLevels = 3;
  for (int i = 0; i < kLevels; ++i, folder = folder.parent_path()) {
    if (is_there(WorkPath(folder) / "campaign.json")) return true;
  }
  return false;
}

// Of the links below a folder, whatever they are named.
std::vector<std::string> refused_links(const std::string& folder) {
  std::vector<std::string> lines;
  const auto items = items_below(folder);
  if (!items) return lines;
  for (const FolderItem& item : *items) {
    if (!item.is_link) continue;
    if (const auto problem = refused_link(item.path)) lines.push_back(problem->what);
  }
  std::sort(lines.begin(), lines.end());
  return lines;
}

}  // namespace

std::optional<Problem> refused_link(const std::string& file) {
  std::error_code error;
  const std::filesystem::path whole = std::filesystem::absolute(file, error);
  if (error || !std::filesystem::is_symlink(whole, error) || !is_in_work_directory(whole.parent_path()))
    return {};
  return Problem{file + ": cannot read: it is a link, and links in work directories are not followed"};
}

Result<CaseFiles> list_cases(const std::string& path) {
  CaseFiles cases;
  auto files = list_json(path, &cases.others);
  if (!files) return Problem{files.problem()};
  std::error_code ignored;
  if (std::filesystem::is_directory(path, ignored)) {
    cases.refused = refused_links(path);
    std::erase_if(*files, [](const std::string& file) { return refused_link(file).has_value(); });
    cases.others += static_cast<int64_t>(std::erase_if(*files, is_other_json));
  }
  cases.files = std::move(*files);
  return cases;
}

Result<Case> read_work_case(const WorkPath& file) {
  const auto text = read_file(file);
  if (!text) return Problem{text.problem()};
  auto test_case = parse_case(*text, graph::DataFiles::beside(file.string()));
  if (!test_case) return Problem{file.string() + ": " + test_case.problem()};
  return test_case;
}

std::optional<Problem> write_data_files(const std::filesystem::path& path, const Case& test_case) {
  const auto files = graph::DataFiles::beside(path);
  std::optional<Problem> problem;
  const auto write_data = [&](const graph::Fill& fill) {
    const auto* data = std::get_if<graph::FileData>(&fill);
    if (problem || !data) return;
    const auto file = files.path(data->sha256);
    std::error_code error;
    if (std::filesystem::file_size(file, error) == data->bytes.size && !error) return;
    problem = make_folder(file.parent_path());
    const auto bytes = data->bytes.span();
    if (!problem) problem = write_file(file, {reinterpret_cast<const char*>(bytes.data()), bytes.size()});
  };
  for (const auto& input : test_case.graph.inputs()) write_data(input.fill);
  for (const auto& state : test_case.graph.states()) write_data(state.fill);
  return problem;
}

std::optional<Problem> write_case_file(const std::filesystem::path& path, const Case& test_case) {
  if (auto problem = write_data_files(path, test_case)) return problem;
  return write_file(path, to_json(test_case));
}

Result<Case> read_case_argument(const std::string& argument) {
  if (argument != kStandardInput) return read_known_case(argument);
  const auto text = read_standard_input(kMaxJsonBytes + 1, Signals::interrupted);
  if (!text) return Problem{text.problem()};
  auto test_case = parse_case(*text);
  if (!test_case) return Problem{"standard input: " + test_case.problem()};
  if (const auto problem = unknown_name(*test_case)) return Problem{"standard input: " + problem->what};
  return test_case;
}

}  // namespace fusesmith::fuzz

#include "fuzz/campaign/finding_record.h"

#include <algorithm>
#include <charconv>

#include "fuzz/base/files.h"
#include "fuzz/report/first_report.h"

namespace fusesmith::fuzz {

namespace fs = std::filesystem;
using Json = nlohmann::ordered_json;

namespace {

const Json kNothing;

const Json& member(const Json& object, const std::string& key) {
  if (!object.is_object()) return kNothing;
  const auto found = object.find(key);
  return found == object.end() ? kNothing : *found;
}

int64_t read_number(const fs::path& file) {
  const auto text = read_file(file);
  int64_t number = 0;
  if (text) std::from_chars(text->data(), text->data() + text->size(), number);
  return std::max<int64_t>(number, 0);
}

FindingRecord read_finding(const fs::path& folder) {
  FindingRecord record;
  record.signature = folder.filename().string();
  record.folder = folder;
  record.cases = read_number(folder / "count");
  const auto verdict = read_file(folder / "verdict.json");
  record.verdict = verdict ? Json::parse(*verdict, nullptr, false) : Json();
  if (!record.verdict.is_object()) record.verdict = Json();
  for (const char* name : {"case.json", "min.json"}) {
    if (!fs::exists(folder / name)) continue;
    record.file = folder / name;
    auto test_case = read_case_file(record.file.string());
    if (test_case) record.smallest = std::move(*test_case);
  }
  return record;
}

}  // namespace

const Json& FindingRecord::judged() const {
  const Json& minimized = member(verdict, "minimized");
  return minimized.is_object() ? minimized : verdict;
}

const Json& FindingRecord::failing_region() const {
  const Json& failing = member(judged(), "failing_region");
  const Json& index = member(failing, "region");
  const Json& regions = member(member(judged(), text_member(failing, "role")), "regions");
  if (!index.is_number_unsigned() || !regions.is_array() || index.get<size_t>() >= regions.size())
    return kNothing;
  return regions[index.get<size_t>()];
}

std::string text_member(const Json& object, const char* key) {
  const Json& value = member(object, key);
  return value.is_string() ? value.get<std::string>() : "";
}

bool is_finished(const fs::path& folder) {
  std::error_code ignored;
  if (!fs::exists(folder / "report.md", ignored)) return false;
  const auto text = read_file(folder / "report.md");
  return !text || !text->starts_with(kNotFinished);
}

Result<std::vector<FindingRecord>> read_findings(const fs::path& workdir) {
  std::vector<FindingRecord> records;
  std::error_code ignored;
  if (!fs::exists(workdir / "findings", ignored)) return records;
  auto folders = entries_of(workdir / "findings");
  if (!folders) return Problem{folders.problem()};
  std::sort(folders->begin(), folders->end());
  for (const fs::path& folder : *folders) {
    if (fs::exists(folder / "case.json", ignored)) records.push_back(read_finding(folder));
  }
  return records;
}

}  // namespace fusesmith::fuzz

#include "fuzz/findings/finding_record.h"

#include <algorithm>
#include <charconv>

#include "fuzz/report/first_report.h"
#include "graph/json_strict.h"

namespace fusesmith::fuzz {

namespace {

using Json = nlohmann::ordered_json;

const Json kNothing;

const Json& member(const Json& object, const std::string& key) {
  if (!object.is_object()) return kNothing;
  const auto found = object.find(key);
  return found == object.end() ? kNothing : *found;
}

using Lines = std::vector<std::string>;

int64_t number_of(const std::string& text) {
  int64_t number = 0;
  std::from_chars(text.data(), text.data() + text.size(), number);
  return std::max<int64_t>(number, 0);
}

// The text; empty where there is none.
std::string read_text(const WorkPath& file, Lines& problems) {
  if (kind_of(file) == FileKind::none) return "";
  auto text = read_file(file);
  if (!text) problems.push_back(text.problem());
  return text ? std::move(*text) : "";
}

FindingRecord read_finding(const WorkPath& folder, Lines& problems) {
  FindingRecord record;
  record.signature = folder.name();
  record.folder = folder;
  record.file = folder / kCaseFile;
  record.cases = number_of(read_text(folder / "count", problems));
  record.verdict = parse_record(read_text(folder / "verdict.json", problems));
  if (!record.verdict.is_object()) record.verdict = Json();
  for (const char* name : {kCaseFile, "min.json"}) {
    const std::string text = read_text(folder / name, problems);
    if (text.empty()) continue;
    record.file = folder / name;
    auto test_case = parse_case(text, graph::DataFiles::beside(record.file.string()));
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

bool is_further_case(const std::string& name) {
  constexpr std::string_view kEnd = ".json";
  if (!name.ends_with(kEnd)) return false;
  std::string_view of = std::string_view(name).substr(0, name.size() - kEnd.size());
  if (of.starts_with(kFinishingPrefix)) return of.size() > kFinishingPrefix.size();
  if (of.starts_with(kCorpusPrefix)) of.remove_prefix(kCorpusPrefix.size());
  return !of.empty() && of.find_first_not_of("0123456789") == std::string_view::npos;
}

bool is_finding_file(const std::string& name) {
  return std::find(kReportedFiles.begin(), kReportedFiles.end(), name) != kReportedFiles.end() ||
         name == "count" || name == kSeenInFile || is_further_case(name);
}

std::string text_member(const Json& object, const char* key) {
  const Json& value = member(object, key);
  return value.is_string() ? value.get<std::string>() : "";
}

bool is_finished(const WorkPath& folder) {
  if (!is_there(folder / "report.md")) return false;
  const auto text = read_file(folder / "report.md");
  return !text || !text->starts_with(kNotFinished);
}

Result<std::vector<FindingRecord>> read_findings(const WorkPath& workdir, Lines* problems) {
  std::vector<FindingRecord> records;
  Lines ignored;
  Lines& lines = problems ? *problems : ignored;
  const WorkPath findings = workdir / "findings";
  if (kind_of(findings) == FileKind::none) return records;
  auto names = names_in(findings);
  if (!names) return Problem{names.problem()};
  std::sort(names->begin(), names->end());
  for (const std::string& name : *names) {
    const FileKind kind = kind_of(findings / name / kCaseFile);
    if (kind == FileKind::unknown || kind_of(findings / name) == FileKind::other) {
      if (const auto folder = names_in(findings / name); !folder) lines.push_back(folder.problem());
    } else if (kind != FileKind::none) {
      records.push_back(read_finding(findings / name, lines));
    }
  }
  return records;
}

}  // namespace fusesmith::fuzz

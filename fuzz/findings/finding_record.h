// A finding as its folder in a work directory holds it, of this version or an earlier one.
#pragma once

#include <array>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "fuzz/base/work_path.h"
#include "graph/case.h"
#include "graph/result.h"

namespace fusesmith::fuzz {

struct FindingRecord {
  std::string signature;  // the name of the folder
  WorkPath folder;
  int64_t cases = 0;               // of this signature that the campaign counted
  WorkPath file;                   // min.json, or case.json where there is none
  std::optional<Case> smallest;    // the case in `file`, if it can be read
  nlohmann::ordered_json verdict;  // verdict.json; null if it is missing or damaged

  // What verdict.json says of `file`; null if it says nothing.
  const nlohmann::ordered_json& judged() const;
  // The region that fails there; null if none does.
  const nlohmann::ordered_json& failing_region() const;
};

// Whether the campaign is done with the finding: its report.md is the whole one, and not missing or the first
// one (fuzz/report/first_report.h).
bool is_finished(const WorkPath& folder);

// Of the folders of findings/ that hold a case, sorted by signature. None where there is no such folder.
// `problems`: files and folders that cannot be read and are passed over, a line each.
Result<std::vector<FindingRecord>> read_findings(const WorkPath& workdir,
                                                 std::vector<std::string>* problems = nullptr);

// How cases are named that are no generated ones, whose name is their counter.
inline constexpr std::string_view kCorpusPrefix = "corpus-", kFinishingPrefix = "finishing-";

// The files that fusesmith writes into the folder of a finding, and no others. seen_in.json is that of
// `merge`.
inline constexpr const char* kCaseFile = "case.json";
inline constexpr const char* kSeenInFile = "seen_in.json";
inline constexpr std::array kReportedFiles = {kCaseFile, "min.json", "verdict.json", "report.md"};
// Further cases of the finding that lie beside its case.json, named as the campaign names cases.
bool is_further_case(const std::string& name);
// Any of these, or the file `count`.
bool is_finding_file(const std::string& name);

// The member of an object as text; "" if it is none.
std::string text_member(const nlohmann::ordered_json& object, const char* key);

}  // namespace fusesmith::fuzz

// A finding as its folder in a work directory holds it, of this version or an earlier one.
#pragma once

#include <filesystem>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <vector>

#include "graph/case.h"
#include "graph/result.h"

namespace fusesmith::fuzz {

struct FindingRecord {
  std::string signature;  // the name of the folder
  std::filesystem::path folder;
  int64_t cases = 0;               // of this signature that the campaign counted
  std::filesystem::path file;      // min.json, or case.json where there is none
  std::optional<Case> smallest;    // the case in `file`, if it can be read
  nlohmann::ordered_json verdict;  // verdict.json; null if it is missing or damaged

  // What verdict.json says of `file`; null if it says nothing.
  const nlohmann::ordered_json& judged() const;
  // The region that fails there; null if none does.
  const nlohmann::ordered_json& failing_region() const;
};

// Whether the campaign is done with the finding: its report.md is the whole one, and not missing or the first
// one (fuzz/report/first_report.h).
bool is_finished(const std::filesystem::path& folder);

// Of the folders of findings/ that hold a case, sorted by signature. None where there is no such folder.
Result<std::vector<FindingRecord>> read_findings(const std::filesystem::path& workdir);

// The member of an object as text; "" if it is none.
std::string text_member(const nlohmann::ordered_json& object, const char* key);

}  // namespace fusesmith::fuzz

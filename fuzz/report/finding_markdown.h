// report.md of a finding: what a maintainer reads without fusesmith at hand (docs/report.md).
#pragma once

#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "fuzz/report/finding_facts.h"

namespace fusesmith::fuzz {

// What every whole report.md ends with.
inline constexpr std::string_view kReportEnd = "</details>\n";
inline constexpr size_t kMostCaseBytes = 16384;  // of a case that a report contains

std::string report_markdown(const FindingReport& report);

// For a shell: what shows the failure again, explains it and minimizes it.
std::vector<std::string> commands_of(const FindingReport& report);

// The paragraph at the top: what is computed, where it fails and by how much; then how sure that is.
std::string what_is_wrong(const FindingFacts& facts, const Verdict& verdict);
std::string how_sure(const FindingFacts& facts);

// A word of a table's heading and what it means.
struct Term {
  std::string_view word, meaning;
};
std::span<const Term> report_terms();

}  // namespace fusesmith::fuzz

// What a report says of one failing case: the same facts for report.md, verdict.json and the page of a
// campaign.
//
// report/ makes texts and JSON of what the judge found: of a verdict (verdict_text.h, verdict_json.h), of a
// finding (finding_markdown.h, finding_json.h), and the words of each symptom (symptoms.h). It judges
// nothing.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "fuzz/report/comparisons.h"
#include "fuzz/report/finding_report.h"

namespace fusesmith::fuzz {

// The element that a failing region has furthest outside.
struct ElementFacts {
  std::string value = {};  // its name
  TensorType type = {};
  Shape index = {};
  double got = 0;
  std::optional<double> other = {};  // on the other backend, in its own run; empty: not stored there
  double exact = 0, rounded = 0, lowest = 0, highest = 0;
  int64_t allowed_values = 0;  // stored values in the interval; 0: not a finite interval
  int64_t ulps_outside = 0;    // 0: not finite
};

struct FindingFacts {
  std::string title;     // one line, as of an issue
  std::string computes;  // what the failing region computes; empty: no region fails
  std::string backend, other_backend;
  std::string other_fails;              // one sentence; empty: the other backend does not fail
  std::optional<ElementFacts> element;  // of a region that left its interval
  std::string argument, why_sure;       // "exact data", and what that means; empty: no region fails
  int64_t outside = 0, elements = 0, all_elements = 0;  // fewer elements were judged if they are a sample
  FailureRate rate;
  std::vector<int> nodes;  // of the failing region
  std::vector<std::string> ruled_out;
  std::vector<Comparison> comparisons;
};

// The name of a backend in a sentence. In a library's report, `cpu` alone would be the library's.
std::string told_backend(const std::string& backend);

// The region of the plan that fails; null if none does.
const Region* failing_plan_region(const CaseRun& run);
// Its nodes; none if no region fails.
std::vector<int> failing_nodes(const CaseRun& run);

FindingFacts facts_of(const JudgedCase& judged, const std::vector<Ablation>& ablations);

}  // namespace fusesmith::fuzz

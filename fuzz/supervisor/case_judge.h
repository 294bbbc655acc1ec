// The cases of a campaign, and how one of them is judged and counted: the same in the campaign's process and
// in its workers.
#pragma once

#include <functional>
#include <optional>
#include <span>
#include <string>

#include "fuzz/counts/stats.h"
#include "fuzz/generate/generator.h"
#include "fuzz/run/judging.h"
#include "fuzz/workdir/campaign_options.h"

namespace fusesmith::fuzz {

// As a campaign judges it.
struct CampaignCase {
  Case test_case;
  CaseParts parts;           // of a generated case
  std::string invalid = {};  // why it is no case
};

class CaseSource {
 public:
  explicit CaseSource(const CampaignOptions& options);
  // Number `counter` of the campaign's sequence: from these choices, or, where there are none, from those
  // that follow from the seed, the shard and the counter.
  CampaignCase generated(uint64_t counter, std::span<const uint8_t> choices) const;
  // A case of the corpus.
  CampaignCase given(Case test_case) const;

 private:
  // Adds what --require asks of the candidate.
  void require(Case& test_case) const;

  const uint64_t seed_, shard_, metamorphic_;
  const std::vector<std::string> require_;
  const GeneratorOptions generator_;
  const RunOptions run_options_;
};

// The case as a file, which reads back as the same case; else what is wrong with it.
Result<std::string> file_text(const Case& test_case);

// What a finding begins with: its files, and what its first report says.
struct NewFinding {
  std::string case_text, verdict_text;
  std::string title, what;
};

// One case that was judged.
struct Finished {
  CaseOutcome outcome;
  std::optional<NewFinding> found = {};  // where the outcome has a signature
  std::string problem = {};              // why the outcome is invalid
};

Finished invalid(std::string problem);

// Adds what the case itself contributes to coverage, whatever became of it.
void add_coverage(CaseOutcome& outcome, const CampaignCase& judged);

// The outcome of a verdict, without coverage.
Finished finished_of(const Verdict& verdict, const Case& test_case);

// Whether the case is to run again alone, with so many times its limits of time: only if it is late then,
// too, it is a finding. Other cases, a signal that stopped it or a busy machine may have been the cause.
inline constexpr double kLongerLimits = 2;
bool is_late(const Finished& finished);

// Judges a case. Throws DeviceError if the device fails, and Interrupted.
Finished run_and_judge(const Case& test_case, const Judging& judging);  // without coverage
Finished judge_case(const CampaignCase& judged, const Judging& judging);
// In the campaign's own process: a late case at once again.
Finished judge_case_twice(const CampaignCase& judged, const Judging& judging);

}  // namespace fusesmith::fuzz

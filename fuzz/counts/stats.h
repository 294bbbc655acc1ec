// What a campaign has counted: the contents of stats.json. Counts are sums over cases in the order of their
// counters, so they are the same for any number of jobs, and go on where they stood when a campaign is
// resumed.
#pragma once

#include <array>
#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "fuzz/counts/campaign_status.h"
#include "fuzz/counts/coverage.h"
#include "fuzz/counts/resolutions.h"
#include "fuzz/generate/generator.h"
#include "graph/result.h"
#include "oracle/judge.h"

namespace fusesmith::fuzz {

using Counts = std::map<std::string, int64_t>;

// What one case adds.
struct CaseOutcome {
  VerdictClass verdict = VerdictClass::identical;
  std::string signature;           // of a finding, else empty
  std::vector<std::string> known;  // issues that the case fails by, each once
  std::vector<std::string>
      arithmetic;                     // customary ones without which the case would fail, by name, each once
  std::string unsupported;            // reason
  std::string out_of_memory;          // reason
  std::vector<std::string> patterns;  // of every region of the candidate, once for each
  GenerationCoverage coverage;
  CoverageEvents events;
  // Metamorphic checks that were made, by name; none where the case did not ask.
  Counts metamorphic;
  // Of each backend's coarsest region; none of a finding, or of a case that was not judged.
  std::optional<double> baseline_resolution, candidate_resolution;
  bool exact = false;    // every element of every region has exactly one correct result
  bool invalid = false;  // the generator's graph does not read back: nothing else is set
};

// The counts at one time of a campaign.
struct Sample {
  double elapsed_s = 0;
  int64_t cases = 0, findings = 0;
  std::array<int64_t, kVerdictNames.size()> verdicts{};
};

struct Stats {
  // `next` is the first counter that is not in the counts yet.
  uint64_t seed = 0, next = 0;
  std::string shard = "0/1";
  int64_t cases = 0, exact_cases = 0, invalid = 0;
  double elapsed_s = 0;
  // How many of the corpus cases, in order, are in the counts, and which cases these are.
  int64_t corpus_done = 0;
  std::string corpus_digest;
  std::array<int64_t, kVerdictNames.size()> verdicts{};
  Counts unsupported, patterns, findings;  // by reason, name, signature
  Counts known;                            // cases that fail by a known issue, by its name
  Counts arithmetic;  // cases that are right only with a customary arithmetic, by its name (docs/verdicts.md)
  int64_t metamorphic_cases = 0;  // with at least one metamorphic check
  Counts metamorphic_checks;      // by name
  // By UUID, those that --gpus chose, in this call of the command or an earlier one.
  struct UsedGpu {
    std::string name, quarantined;  // why; empty: it works, as far as is known
  };
  std::map<std::string, UsedGpu> gpus;
  GenerationCoverage coverage;
  Coverage met;
  Resolutions baseline_resolutions, candidate_resolutions;
  // In the order of time; none in files of earlier versions. At most kMaxSamples: the longer a campaign, the
  // further apart.
  std::vector<Sample> history;
  static constexpr size_t kMaxSamples = 240;
  // Of the time when the file was saved; of what is read from a file, only what later starts go on with. None
  // in merged counts.
  std::optional<CampaignStatus> status;

  // All patterns are there from the start, so that one that never fired shows as 0.
  static Stats with_patterns();
  void add(const CaseOutcome& outcome);
  // Adds the counts of another campaign, which ran beside this one: `elapsed_s` becomes that of the longer
  // one. What speaks of one campaign alone (seed, shard, the digest, history) stays.
  void add(const Stats& other);
  // Leaves the most frequent reasons, as add(CaseOutcome) leaves the first ones: a worker may name sizes or
  // addresses in each, and stats.json would become too large to be read.
  static constexpr size_t kMaxReasons = 256;
  static constexpr std::string_view kOtherReasons = "other reasons";  // counts the rest, beside kMaxReasons
  void limit_reasons();
  // Adds a sample of the counts as they are, unless the last one is too recent.
  void sample();
  double graphs_per_second() const { return elapsed_s > 0 ? static_cast<double>(cases) / elapsed_s : 0; }
  // What the outcome shows for the first time: "pattern sdpa", "op einsum", ...
  std::vector<std::string> new_features(const CaseOutcome& outcome) const;
};

std::string to_json(const Stats& stats);
// Refused, with the key: what is missing, of a wrong type, negative, too large, or at odds with another
// count.
Result<Stats> parse_stats(const std::string& text);

}  // namespace fusesmith::fuzz

// Judging: the two backends and the options that fuzz, replay, minimize and explain judge cases with, and the
// flags that set them.
#pragma once

#include <string>
#include <vector>

#include "fuzz/flags.h"
#include "fuzz/run_case.h"

namespace fusesmith {

struct JudgeFlags {
  std::string baseline;  // empty: the case's `expect`, else the default pair
  std::string candidate;
  std::string policy;  // empty: the case's own
  std::vector<std::string> skip_patterns;
  std::vector<std::string> faults;

  // Appends its rows; `identity` as in Flag.
  void add_to(std::vector<Flag>& flags, bool identity);
  // Those of the flags that a case saved with_options does not hold.
  JudgeFlags beside_case() const;
  // " --candidate=cpu_fused --faults=x": what was set, ready to be pasted after a command.
  std::string text() const;
};

// "cuda" and "cuda_fused" in builds and on machines that have them, else "cpu" and "cpu_fused".
std::string default_baseline();
std::string default_candidate();

struct Judging {
  std::string baseline, candidate;  // names
  RunOptions options;

  explicit Judging(const JudgeFlags& flags);
  // As flags say, with the pair that the case's expectation names where they name none.
  Judging(const JudgeFlags& flags, const Case& test_case);

  // The same verdicts for less: of the declared deviations it names all, not only those that are needed.
  Judging quick() const;

  // The one of the two backends that this build lacks; empty when it has both.
  std::string missing() const;

  // What run_case_traced gives. A backend that this build lacks: `unsupported`. What a backend throws becomes
  // a verdict too (memory that ran out: `out_of_memory`; anything else: `crash`), a finding that names the
  // candidate.
  CaseRun run(const Case& test_case) const;
};

// The word quoted for a shell where it needs that.
std::string shell_quoted(const std::string& word);

}  // namespace fusesmith

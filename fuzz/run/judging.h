// Judging: the two backends and the options that fuzz, replay, minimize and explain judge cases with, and the
// flags that set them.
#pragma once

#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "backends/device_error.h"
#include "backends/worker_error.h"
#include "fuzz/base/exit_code.h"
#include "fuzz/base/flags.h"
#include "fuzz/run/known_issues.h"
#include "fuzz/run/run_case.h"

namespace fusesmith::fuzz {

// The options of the flags by which a case is run and judged.
struct JudgeFlags;
RunOptions run_options(const JudgeFlags& flags);

struct CannotRun {
  std::string why;  // one line
  ExitCode code;    // kDeviceUnhealthy, or of a worker kUsage
};

struct JudgeFlags {
  std::string baseline;  // empty: the case's `expect`, else the default pair
  std::string candidate;
  std::string policy;  // empty: the case's own
  std::vector<std::string> skip_patterns;
  std::vector<std::string> faults;
  double compile_timeout = Deadlines{}.compile;  // seconds, of workers
  double run_timeout = Deadlines{}.run;
  int64_t expose = kExposeWhereNeeded;
  std::string sample = "auto";                                // or "off", or a number
  std::string known = {};                                     // file; empty: none
  std::shared_ptr<const KnownIssues> known_issues = nullptr;  // from read_known

  // Appends its rows.
  void add_to(std::vector<Flag>& flags);
  // Those of the flags that a case saved with_options does not hold.
  JudgeFlags beside_case() const;
  // " --candidate=cpu_fused --faults=x": what was set, ready to be pasted after a command.
  std::string text() const;
  // When a backend that these flags name cannot run on this machine now.
  std::optional<CannotRun> cannot_run() const;
  // As SampleOptions has them; nothing where the text is none of those that it may be.
  std::optional<int64_t> sample_indices() const;
  // Reads the file of known issues, if one is named; what is wrong with it.
  std::optional<Problem> read_known();

 private:
  void add_worker_flags(std::vector<Flag>& flags);
};

// "cuda" and "cuda_fused" in builds that have them, where they can run; else "cpu" and "cpu_fused".
std::string default_baseline();
std::string default_candidate();

struct Judging {
  std::string baseline, candidate;  // names
  // Why the pair cannot run here, in one line: a backend is not in this build, or could not run when the pair
  // was chosen; else empty.
  std::string why_not;
  RunOptions options;                                  // but for find_issue, which is of a case
  std::function<void(const Case&)> on_device_failure;  // of the case that was running, before run() throws
  std::shared_ptr<const KnownIssues> known_issues = nullptr;
  std::string reported;  // a signature that stays a finding, whatever is known since it was reported
  // Runs a case in another process, in place of this one. What it throws becomes a verdict in the same way.
  using Elsewhere = std::function<CaseRun(const Case&)>;
  Elsewhere elsewhere;

  explicit Judging(const JudgeFlags& flags);
  // With the pair that the flags name, which is not looked for in this process.
  Judging(const JudgeFlags& flags, Elsewhere elsewhere);
  // As flags say, with the pair that the case's expectation names where they name none. A problem where that
  // is a program, which no file may start.
  static Result<Judging> of_case(JudgeFlags flags, const std::string& file, const Case& test_case);

  // The same verdicts for less: of the declared deviations it names all, not only those that are needed.
  Judging quick() const;
  // The same with so many times the limits of time of workers.
  Judging with_limits(double times) const;

  // What run_case_traced gives; `then`, if given, goes on with it. A pair that cannot run here:
  // `unsupported`. What a backend throws becomes a verdict too: memory that ran out `out_of_memory`; anything
  // else `crash`, a finding that names the candidate. Except DeviceError::unhealthy, which is passed on: what
  // runs after it would fail too, whatever it is. Interrupted is passed on as well.
  CaseRun run(const Case& test_case, const std::function<void(CaseRun&)>& then = {}) const;

  // The verdict on a case whose worker process failed.
  Verdict worker_failure(const Case& test_case, const WorkerError& error) const;

  // The verdict on a case that alone makes the device fail.
  Verdict device_failure(const Case& test_case, const DeviceError& error) const;

  // The known issues of a case; `reason` is what the backend said that failed, empty if it ran.
  FindIssue find_issue(const Case& test_case, const std::string& reason = "") const;
};

// With which a command ends where the machine had too little of something: is_shortage() of the verdict.
ExitCode code_of_shortage(VerdictClass verdict);

// The word quoted for a shell where it needs that.
std::string shell_quoted(const std::string& word);

}  // namespace fusesmith::fuzz

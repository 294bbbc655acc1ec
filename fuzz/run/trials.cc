#include "fuzz/run/trials.h"

#include <algorithm>
#include <cmath>

namespace fusesmith::fuzz {

namespace {

constexpr int kFewRuns = 5, kMoreRuns = 20;
constexpr double kMissed = 0.02;

bool fails(const Verdict& verdict, const std::string& signature) {
  return verdict.finding && (signature.empty() || verdict.signature_text() == signature);
}

}  // namespace

CaseRun run_until_failing(const Case& test_case, const std::string& signature, const Judging& judging,
                          int trials, const Stop& stop) {
  CaseRun run = judging.run(test_case);
  for (int i = 1; i < trials && !fails(run.verdict, signature); ++i) {
    if (stop && stop()) break;
    run = judging.run(test_case);
  }
  return run;
}

Reproduction reproduce(const Case& test_case, const std::string& signature, const Judging& judging, int most,
                       const Stop& stop) {
  const auto stopped = [&] { return stop && stop(); };
  Reproduction seen;
  do {
    seen.run = judging.run(test_case);
    ++seen.rate.runs;
    seen.rate.failed = fails(seen.run.verdict, signature) ? 1 : 0;
  } while (!seen.fails() && seen.rate.runs < most && !stopped());
  if (!seen.fails()) return seen;
  const std::string wanted = seen.run.verdict.signature_text();
  const Judging quick = judging.quick();
  while (seen.rate.runs < (seen.rate.sometimes() ? kMoreRuns : kFewRuns) && !stopped()) {
    ++seen.rate.runs;
    seen.rate.failed += fails(quick.run(test_case).verdict, wanted) ? 1 : 0;
  }
  return seen;
}

int trials_for(const FailureRate& rate) {
  if (!rate.sometimes()) return 1;
  const double passes = 1 - static_cast<double>(rate.failed) / rate.runs;
  if (passes == 1) return kMostTrials;
  return std::clamp(static_cast<int>(std::ceil(std::log(kMissed) / std::log(passes))), 2, kMostTrials);
}

}  // namespace fusesmith::fuzz

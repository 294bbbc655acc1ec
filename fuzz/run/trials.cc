#include "fuzz/run/trials.h"

#include <algorithm>
#include <cmath>

namespace fusesmith::fuzz {

namespace {

constexpr int kFewRuns = 5, kMoreRuns = 20;
constexpr double kMissed = 0.02;

bool fails(const Verdict& verdict, const std::string& signature) {
  return verdict.finding && (signature.empty() || verdict.signature == signature);
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

FailureRate failure_rate(const Case& test_case, const std::string& signature, const Judging& judging,
                         const Stop& stop) {
  FailureRate rate;
  for (int runs = kFewRuns; rate.runs < runs && !(stop && stop());) {
    ++rate.runs;
    if (fails(judging.run(test_case).verdict, signature))
      ++rate.failed;
    else
      runs = kMoreRuns;
  }
  return rate;
}

int trials_for(const FailureRate& rate) {
  if (!rate.sometimes()) return 1;
  const double passes = 1 - static_cast<double>(rate.failed) / rate.runs;
  if (passes == 1) return kMostTrials;
  return std::clamp(static_cast<int>(std::ceil(std::log(kMissed) / std::log(passes))), 2, kMostTrials);
}

}  // namespace fusesmith::fuzz

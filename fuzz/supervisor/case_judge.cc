#include "fuzz/supervisor/case_judge.h"

#include <algorithm>
#include <set>

#include "fuzz/findings/finding.h"
#include "fuzz/report/first_report.h"
#include "fuzz/run/metamorphic.h"

namespace fusesmith::fuzz {

namespace {

// Writing a case and reading it again takes a tenth of its time. One generated case in so many is a sample of
// the generator; every case that is saved is read again too.
constexpr uint64_t kReadAgainEvery = 64;

GeneratorOptions generator_options(const CampaignOptions& options) {
  GeneratorOptions generator;
  generator.data = parse_data_mix(options.data);
  generator.ops = options.ops;
  if (options.engine == kLibFuzzer)
    generator.engine = Engine::focused;  // its distribution is where libFuzzer starts
  else
    generator.engine = parse_engine(options.engine.empty() ? kDefaultEngine : options.engine);
  return generator;
}

std::optional<double> resolution_of(const BackendVerdict& backend) {
  const RegionVerdict* coarsest = backend.coarsest();
  return coarsest ? std::optional(coarsest->resolution.median) : std::nullopt;
}

}  // namespace

CaseSource::CaseSource(const CampaignOptions& options)
    : seed_(options.seed),
      shard_(*parse_shard(options.shard)),
      metamorphic_(options.metamorphic),
      require_(options.require),
      generator_(generator_options(options)),
      run_options_(run_options(options.judge)) {}

CampaignCase CaseSource::generated(uint64_t counter, std::span<const uint8_t> choices) const {
  CampaignCase made;
  Case test_case;
  if (choices.empty()) {
    test_case = generate_case(seed_, shard_, counter, generator_, &made.parts);
  } else {
    Choices from(choices);
    test_case = generate(from, generator_, &made.parts);
  }
  if (metamorphic_ > 0 && counter % metamorphic_ == 0)
    test_case.policy.metamorphic.assign(kMetamorphicChecks.begin(), kMetamorphicChecks.end());
  require(test_case);
  // With the options inside, a saved case needs no flags but the faults to show the same.
  made.test_case = with_options(std::move(test_case), run_options_);
  if (counter % kReadAgainEvery == 0) {
    if (const auto text = file_text(made.test_case); !text) made.invalid = text.problem();
  }
  return made;
}

void CaseSource::require(Case& test_case) const {
  std::vector<std::string>& checks = test_case.policy.metamorphic;
  for (const std::string& one : require_) {
    if (std::find(checks.begin(), checks.end(), one) == checks.end()) checks.push_back(one);
  }
}

CampaignCase CaseSource::given(Case test_case) const {
  test_case.expect.reset();  // speaks of the corpus file, not of findings made from it
  require(test_case);
  return {with_options(std::move(test_case), run_options_), {}};
}

Result<std::string> file_text(const Case& test_case) {
  std::string text = to_json(test_case);
  const auto again = parse_case(text);
  if (again && *again == test_case) return text;
  return Problem{"invalid case: " + (again ? "reads back as another" : again.problem())};
}

Finished invalid(std::string problem) {
  Finished finished;
  finished.outcome.invalid = true;
  finished.problem = std::move(problem);
  return finished;
}

void add_coverage(CaseOutcome& outcome, const CampaignCase& judged) {
  outcome.coverage.add(judged.test_case, judged.parts);
  add_graph_events(outcome.events, judged.test_case.graph, judged.parts.style);
}

// The names, each once, of what regions do that their contracts do not say.
std::vector<std::string> customary_arithmetic(const Verdict& verdict) {
  std::set<std::string> names;
  for (const BackendVerdict* backend : {&verdict.baseline, &verdict.candidate})
    for (const RegionVerdict& region : backend->regions)
      for (const Diagnosis& one : region.arithmetic)
        if (one.customary) names.insert(one.name);
  return {names.begin(), names.end()};
}

Finished finished_of(const Verdict& verdict, const Case& test_case) {
  Finished finished;
  CaseOutcome& outcome = finished.outcome;
  outcome.verdict = verdict.verdict;
  if (verdict.verdict == VerdictClass::unsupported) outcome.unsupported = verdict.reason;
  if (verdict.verdict == VerdictClass::out_of_memory) outcome.out_of_memory = verdict.reason;
  outcome.exact = verdict.exact;
  for (const RegionVerdict& region : verdict.candidate.regions)
    outcome.patterns.insert(outcome.patterns.end(), region.patterns.begin(), region.patterns.end());
  for (const KnownFailure& failure : verdict.known) outcome.known.push_back(failure.issue);
  outcome.arithmetic = customary_arithmetic(verdict);
  if (!verdict.finding && verdict.verdict <= VerdictClass::inconclusive) {
    outcome.baseline_resolution = resolution_of(verdict.baseline);
    outcome.candidate_resolution = resolution_of(verdict.candidate);
  }
  if (!verdict.finding) return finished;
  outcome.signature = verdict.signature_text();
  auto text = file_text(test_case);
  if (!text) return invalid(text.problem());
  const Headline headline = headline_of(verdict, test_case);
  finished.found = {std::move(*text), first_verdict_text(verdict), headline.title, headline.what};
  return finished;
}

bool is_late(const Finished& finished) {
  const VerdictClass verdict = finished.outcome.verdict;
  return !finished.outcome.invalid &&
         (verdict == VerdictClass::timeout || verdict == VerdictClass::overloaded);
}

Finished run_and_judge(const Case& test_case, const Judging& judging) {
  CoverageEvents events;
  const CaseRun run = judging.run(test_case, [&](CaseRun& ran) {
    if (ran.candidate) add_plan_events(events, test_case.graph, ran.candidate->plan());
  });
  Finished finished = finished_of(run.verdict, test_case);
  if (finished.outcome.invalid) return finished;
  finished.outcome.events = std::move(events);
  finished.outcome.metamorphic = run.metamorphic;
  return finished;
}

Finished judge_case(const CampaignCase& judged, const Judging& judging) {
  if (!judged.invalid.empty()) return invalid(judged.invalid);
  Finished finished = run_and_judge(judged.test_case, judging);
  if (!finished.outcome.invalid) add_coverage(finished.outcome, judged);
  return finished;
}

Finished judge_case_twice(const CampaignCase& judged, const Judging& judging) {
  Finished finished = judge_case(judged, judging);
  return is_late(finished) ? judge_case(judged, judging.with_limits(kLongerLimits)) : finished;
}

}  // namespace fusesmith::fuzz

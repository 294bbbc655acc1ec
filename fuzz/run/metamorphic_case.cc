#include "fuzz/run/metamorphic_case.h"

#include <algorithm>
#include <numeric>

#include "backends/remote/worker_names.h"
#include "fuzz/run/isolation.h"
#include "fuzz/run/metamorphic.h"
#include "fuzz/run/subset.h"

namespace fusesmith::fuzz {

namespace {

constexpr uint64_t kScalingDraws = 1, kExchangeDraws = 2, kIsolationDraws = 3,
                   kSubsetDraws = 4;  // sequences of choices, beside the case's seed
constexpr int kMostDraws = 8;
constexpr size_t kMostExchanges = 4;
constexpr size_t kMostReductions = 4;
constexpr int kRequiredSubsets = 4;  // of a region, where the policy requires batch invariance
constexpr int kMostRepeats = 16;     // of a program that a check reports

// No element keeps its place.
std::vector<int64_t> draw_places(int64_t size, Choices& choices) {
  std::vector<int64_t> places(static_cast<size_t>(size));
  std::iota(places.begin(), places.end(), 0);
  for (int64_t i = size; i-- > 1;)
    std::swap(places[static_cast<size_t>(i)], places[static_cast<size_t>(choices.below(i))]);
  return places;
}

// One backend's part of a run.
struct Subject {
  Program& program;
  const Trace& trace;
  BackendRole role;
};

std::vector<size_t> all_regions(const Plan& plan) {
  std::vector<size_t> all(plan.regions.size());
  std::iota(all.begin(), all.end(), size_t{0});
  return all;
}

// Of `candidates`, in the plan's order: those that sum rows, of which there may be many in a large graph, and
// now and then one of the others.
std::vector<size_t> subset_regions(const Graph& graph, const Plan& plan,
                                   const std::vector<size_t>& candidates, Choices& choices) {
  std::vector<size_t> found, others;
  for (const size_t r : candidates) {
    const bool sums = std::any_of(plan.regions[r].nodes.begin(), plan.regions[r].nodes.end(), [&](int node) {
      const OpClass kind = info(graph.nodes()[static_cast<size_t>(node)].op).op_class;
      return kind == OpClass::reduction || kind == OpClass::product || kind == OpClass::composite;
    });
    (sums ? found : others).push_back(r);
  }
  while (found.size() > kMostReductions) found.erase(found.begin() + choices.below(std::ssize(found)));
  if (!others.empty() && choices.flip(0.25)) found.push_back(choices.pick(std::span<const size_t>(others)));
  std::sort(found.begin(), found.end());
  return found;
}

bool asks_for(const Case& test_case, std::string_view check) {
  const std::vector<std::string>& entries = test_case.policy.metamorphic;
  return std::any_of(entries.begin(), entries.end(),
                     [&](const std::string& entry) { return check_of(entry) == check; });
}

class Checks {
 public:
  Checks(const Case& test_case, const CompilePart& compile, CaseRun& run)
      : case_(test_case),
        compile_(compile),
        run_(run),
        subjects_{{*run.candidate, run.candidate_trace, BackendRole::candidate},
                  {*run.baseline, run.baseline_trace, BackendRole::baseline}} {}

  void scaling() {
    Choices choices(case_.seed, 0, kScalingDraws);
    std::optional<Scaling> scaling;
    for (int i = 0; i < kMostDraws && !scaling; ++i) scaling = draw_scaling(case_.graph, choices);
    if (!scaling) return;
    const auto inputs = std::span(run_.baseline_trace.values).first(case_.graph.inputs().size());
    const Inputs scaled = scaled_inputs(case_.graph, inputs, *scaling);
    const Trace unfused_after = run_.baseline->run(scaled);
    const ScaledRuns unfused{run_.baseline_trace, unfused_after};
    const Subject &candidate = subjects_[0], &baseline = subjects_[1];
    add("scaling", candidate,
        check_scaling(candidate.program.plan(), case_.graph, {candidate.trace, candidate.program.run(scaled)},
                      unfused, *scaling));
    add("scaling", baseline, check_scaling(baseline.program.plan(), case_.graph, unfused, unfused, *scaling));
  }

  void exchange() {
    Choices choices(case_.seed, 0, kExchangeDraws);
    const std::vector<Exchange> all = exchanges_of(case_.graph);
    std::vector<Exchange> exchanges, of_rows;
    for (const Exchange& exchange : all) {
      // Of products only the rows of the first input, not the columns of a weight.
      if (!exchange.bit_for_bit && exchange.axes[0] < 0) continue;
      std::vector<Exchange>& kind = exchange.bit_for_bit ? exchanges : of_rows;
      if (kind.size() < kMostExchanges) kind.push_back(exchange);
    }
    exchanges.insert(exchanges.end(), of_rows.begin(), of_rows.end());
    for (const Exchange& exchange : exchanges) {
      const std::vector<int64_t> places = draw_places(exchange.size, choices);
      for (const Subject& subject : subjects_) {
        if (!promises(subject, exchange) && !is_required(kPositionInvariance, subject)) continue;
        add("exchange", subject,
            check_exchange(subject.program, case_.graph, subject.trace, exchange, places));
      }
    }
  }

  void isolation() {
    const auto replacement = replacement_of(case_, run_.verdict);
    if (!replacement) return;
    const Inputs inputs = inputs_of_run();
    const Replaced replaced = replaced_inputs(case_.graph, inputs, *replacement);
    const Reach reach = reach_of(case_.graph, inputs, replaced.inputs);
    for (const Subject& subject : subjects_) {
      if (!leaves_any(subject.program.plan(), reach)) continue;
      add("isolation", subject,
          check_isolation(subject.program, case_.graph, subject.trace, replaced, reach));
    }
  }

  void subsets() {
    Choices choices(case_.seed, 0, kSubsetDraws);
    for (const Subject& subject : subjects_) {
      const Plan& plan = subject.program.plan();
      const bool required = is_required(kBatchInvariance, subject);
      const std::vector<size_t> regions = required ? all_regions(plan) : batch_invariant_regions(plan);
      for (const size_t region : subset_regions(case_.graph, plan, regions, choices)) {
        // Which rows change depends on how many there are: several subsets where it is all that is asked.
        for (int i = 0; i < (required ? kRequiredSubsets : 1) && !run_.verdict.finding; ++i)
          add_subset(subject, region, required, choices);
      }
    }
  }

 private:
  // A worker promises nothing unless it says so: a kernel may sum its last rows in another order than the
  // others.
  bool promises(const Subject& subject, const Exchange& exchange) const {
    const Plan& plan = subject.program.plan();
    if (worker_kind(run_.verdict.of(subject.role).backend)) return promises_all_positions(plan);
    return exchange.bit_for_bit && promises_exchanged_bits(case_.graph, plan);
  }

  bool is_required(std::string_view invariance, const Subject& subject) const {
    const std::vector<std::string>& entries = case_.policy.metamorphic;
    return subject.role == BackendRole::candidate &&
           std::find(entries.begin(), entries.end(), invariance) != entries.end();
  }

  void add_subset(const Subject& subject, size_t region, bool required, Choices& choices) {
    const auto subset =
        draw_subset(case_.graph, subject.program.plan().regions[region], subject.trace, choices);
    const auto part = subset ? compile_(subset->graph, subject.role) : nullptr;
    if (!part) return;
    const MetamorphicCheck check = check_subset(*part, region, subject.trace, *subset, required);
    if (check.compared > 0) add("subset", subject, check);
  }

  // Those of the baseline are not counted: what is counted says how often the candidate was looked at.
  void add(const char* name, const Subject& subject, const MetamorphicCheck& check) {
    if (subject.role == BackendRole::candidate) ++run_.metamorphic[name];
    if (!check.broken || subject.program.plan().regions[check.broken->region].order_varies) return;
    const auto varies = differs_by_itself(subject);
    add_disagreement(case_.graph, varies ? *varies : *check.broken, subject.role, run_.verdict,
                     run_.find_issue);
  }

  Inputs inputs_of_run() const {
    const auto known = run_.baseline_trace.values.begin();
    return {known, known + std::ssize(case_.graph.inputs())};
  }

  // A program that gives other bits on the same inputs, too, says nothing of changed ones.
  std::optional<Disagreement> differs_by_itself(const Subject& subject) const {
    const Inputs inputs = inputs_of_run();
    for (int i = 0; i < kMostRepeats; ++i) {
      auto found = first_difference(Disagreement::Kind::repeat, subject.program.plan(), subject.trace,
                                    subject.program.run(inputs));
      if (found) return found;
    }
    return std::nullopt;
  }

  const Case& case_;
  const CompilePart& compile_;
  CaseRun& run_;
  const Subject subjects_[2];
};

}  // namespace

std::optional<Replacement> replacement_of(const Case& test_case, const Verdict& verdict) {
  if (!test_case.policy.replaced.empty()) {
    const auto given = graph::parse_replacement(test_case.policy.replaced, test_case.graph);
    return given ? std::optional(*given) : std::nullopt;
  }
  const bool foreign = worker_kind(verdict.baseline.backend) || worker_kind(verdict.candidate.backend);
  Choices choices(test_case.seed, 0, kIsolationDraws);
  return draw_replacement(test_case.graph, foreign, choices);
}

void check_metamorphic(const Case& test_case, const CompilePart& compile, CaseRun& run) {
  const bool fixed = !test_case.graph.states().empty() || !test_case.stand_ins.empty();
  if (test_case.policy.metamorphic.empty() || fixed || !run.candidate || run.verdict.finding) return;
  Checks checks(test_case, compile, run);
  if (asks_for(test_case, "scaling")) checks.scaling();
  if (!run.verdict.finding && asks_for(test_case, "exchange")) checks.exchange();
  if (!run.verdict.finding && asks_for(test_case, "isolation")) checks.isolation();
  if (!run.verdict.finding && asks_for(test_case, "subset")) checks.subsets();
}

}  // namespace fusesmith::fuzz

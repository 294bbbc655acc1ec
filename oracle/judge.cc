#include "oracle/judge.h"

#include <algorithm>
#include <atomic>
#include <cmath>
#include <future>
#include <system_error>
#include <thread>

#include "oracle/difference.h"
#include "oracle/region_judge.h"

namespace fusesmith::oracle {
namespace {

// By ValueId: whether both traces hold the same bits; nothing where one of them does not hold the value.
using SameBits = std::vector<std::optional<bool>>;

SameBits same_bits(const Trace& baseline, const Trace& candidate) {
  SameBits same(baseline.values.size());
  for (size_t v = 0; v < same.size(); ++v) {
    const TensorPtr &a = baseline.values[v], &b = candidate.values[v];
    if (a && b) same[v] = a == b || *a == *b;
  }
  return same;
}

// The candidate's trace, with the baseline's tensors where they have the same bits.
Trace shared_trace(const Trace& baseline, const Trace& candidate, const SameBits& same) {
  Trace shared = candidate;
  for (size_t v = 0; v < same.size(); ++v) {
    if (same[v].value_or(false)) shared.values[v] = baseline.values[v];
  }
  return shared;
}

bool all_same(const std::vector<ValueId>& values, const SameBits& same) {
  return std::all_of(values.begin(), values.end(),
                     [&](ValueId v) { return same[static_cast<size_t>(v)].value_or(false); });
}

// Whether both backends gave the same bits on the same inputs. If the baseline's regions of these nodes are
// within their bounds, the candidate's region needs no evaluation.
bool has_same_bits(const Region& region, const SameBits& same) {
  return all_same(region.inputs, same) && all_same(region.outputs, same);
}

// Regions within their bounds that read and stored the same bits in both traces are `identical`. Values of
// nodes inside a region of the other plan may not be stored; then the outputs of that region are compared.
void mark_identical(const Graph& graph, const Plan& plan, const Plan& other, const SameBits& same,
                    BackendVerdict& verdict) {
  std::vector<char> is_same(graph.nodes().size(), false);
  for (const Plan* p : {&plan, &other}) {
    for (const Region& region : p->regions) {
      if (!has_same_bits(region, same)) continue;
      for (const int node : region.nodes) is_same[static_cast<size_t>(node)] = true;
    }
  }
  for (size_t r = 0; r < plan.regions.size(); ++r) {
    const std::vector<int>& nodes = plan.regions[r].nodes;
    const bool agrees = std::all_of(nodes.begin(), nodes.end(),
                                    [&](int node) { return is_same[static_cast<size_t>(node)] != 0; });
    VerdictClass& judged = verdict.regions[r].verdict;
    if (agrees && judged == VerdictClass::reassociation) judged = VerdictClass::identical;
  }
}

// The baseline's verdict on the nodes of a candidate region, if each of them is a region within its bounds.
std::optional<RegionVerdict> inherit(const Graph& graph, const Region& region, size_t index, const Plan& plan,
                                     const BackendVerdict& baseline) {
  VerdictClass most_severe = VerdictClass::reassociation;
  RegionVerdict verdict;
  for (int node : region.nodes) {
    bool found = false;
    for (size_t r = 0; r < plan.regions.size() && !found; ++r) {
      if (plan.regions[r].nodes != std::vector<int>{node}) continue;
      const RegionVerdict& own = baseline.regions[r];
      most_severe = std::max(most_severe, own.verdict);
      verdict = own;
      found = true;
    }
    if (!found) return std::nullopt;
  }
  if (most_severe != VerdictClass::reassociation) return std::nullopt;
  verdict.region = index;
  verdict.name = graph.nodes()[static_cast<size_t>(region.nodes.back())].name;
  verdict.patterns = region.patterns;
  verdict.inherited = true;
  return verdict;
}

// Whether the limit of the candidate may say something else of the same bits.
bool may_be_coarse(const RegionVerdict& inherited, double coarsest) {
  return inherited.resolution.median > coarsest || (std::isfinite(coarsest) && inherited.uncertain > 0);
}

// Every node in exactly one region: a plan that leaves a node out would leave its value unjudged.
void check_plan(const Graph& graph, const Plan& plan) {
  std::vector<int> times(graph.nodes().size(), 0);
  for (const Region& region : plan.regions) {
    for (int node : region.nodes) ++times[static_cast<size_t>(node)];
  }
  check(std::all_of(times.begin(), times.end(), [](int n) { return n == 1; }),
        "judge: a plan must cover every node once");
}

// A candidate whose trace holds other inputs than the baseline's computed another case: its regions, judged
// on what stands in the trace, would prove nothing. The first such input.
std::optional<ValueId> changed_input(const Graph& graph, const SameBits& same) {
  for (ValueId v = 0; graph.is_input(v); ++v) {
    if (!same[static_cast<size_t>(v)].value_or(false)) return v;
  }
  return std::nullopt;
}

bool is_finding(const RegionVerdict& r, const Policy& policy) {
  if (r.verdict >= VerdictClass::nondeterministic) return true;
  return r.verdict == VerdictClass::precision_policy &&
         (!r.declared || policy.implicit_casts == Policy::ImplicitCasts::strict);
}

VerdictClass most_severe(const std::vector<RegionVerdict>& regions) {
  VerdictClass result = VerdictClass::identical;
  for (const RegionVerdict& r : regions) result = std::max(result, r.verdict);
  return result;
}

void compare_outputs(const Graph& graph, const Trace& baseline, const Trace& candidate, Verdict& verdict) {
  Difference sum;
  for (const ValueId v : graph.outputs())
    sum += difference(*baseline.values[static_cast<size_t>(v)], *candidate.values[static_cast<size_t>(v)]);
  verdict.output_elements = sum.elements;
  verdict.unequal = sum.unequal;
  verdict.unequal_nonfinite = sum.nonfinite;
  verdict.max_difference = sum.largest;
  verdict.max_finite_difference = sum.largest_finite;
}

Symptom symptom_of(Disagreement::Kind kind) {
  switch (kind) {
    case Disagreement::Kind::guard:
      return Symptom::guard_overwritten;
    case Disagreement::Kind::poison:
      return Symptom::depends_on_unwritten_memory;
    case Disagreement::Kind::repeat:
      return Symptom::repeat_differs;
    case Disagreement::Kind::production:
      return Symptom::production_differs;
    case Disagreement::Kind::source:
      return Symptom::source_overwritten;
    case Disagreement::Kind::scaling:
      return Symptom::scaling_differs;
    case Disagreement::Kind::exchange:
      return Symptom::exchange_differs;
    case Disagreement::Kind::isolation:
      return Symptom::depends_on_neighbours;
    case Disagreement::Kind::subset:
      return Symptom::depends_on_batch;
  }
  return Symptom::none;
}

// The region with this disagreement, which fails whatever its bounds say: what it holds in one run proves
// nothing of the next.
RegionVerdict disagreeing(const Graph& graph, const Disagreement& found, RegionVerdict region) {
  region.verdict =
      found.kind == Disagreement::Kind::repeat ? VerdictClass::nondeterministic : VerdictClass::defect;
  region.symptom = symptom_of(found.kind);
  region.inherited = false;
  region.change = found.change;
  region.row = found.row;
  if (found.kind == Disagreement::Kind::guard) return region;
  region.worst = {};
  region.worst.value = graph.name(found.value);
  region.worst.element = found.element;
  region.worst.shape = graph.type(found.value).shape;
  region.worst.got = found.second;
  region.worst.want = region.worst.lo = region.worst.hi = found.first;
  return region;
}

// Marks the region of the disagreement, if there is one. If the disagreement is a known issue, it does not
// hide a finding that the region is by its bounds.
void mark_disagreement(const Case& test_case, const Execution& execution, const FindIssue& find_issue,
                       BackendVerdict& backend, Verdict& verdict) {
  if (!execution.disagreement) return;
  RegionVerdict& region = backend.regions.at(execution.disagreement->region);
  RegionVerdict marked = disagreeing(test_case.graph, *execution.disagreement, region);
  const auto is_new = [&](const RegionVerdict& failed) {
    return !find_issue || find_issue(signature_of(backend, failed)).empty();
  };
  if (!is_new(marked) && is_finding(region, test_case.policy) && is_new(region)) {
    verdict.add_known(signature_of(backend, marked), find_issue);
    return;
  }
  region = std::move(marked);
}

// The finding, if there is one: of the first failing region in order of execution, since later ones may fail
// because of it. Known issues do not count.
void conclude(const Case& test_case, std::optional<ValueId> changed, const FindIssue& find_issue,
              Verdict& verdict) {
  if (changed) {
    verdict.reason =
        "the trace holds other bits of input '" + test_case.graph.name(*changed) + "' than were given";
    verdict.fail({VerdictClass::defect, verdict.candidate.backend, "inputs",
                  test_case.graph.type(*changed).dtype, Symptom::input_changed},
                 find_issue);
    return;
  }
  for (const BackendRole role : {BackendRole::candidate, BackendRole::baseline}) {
    const BackendVerdict& backend = verdict.of(role);
    for (size_t r = 0; r < backend.regions.size(); ++r) {
      if (!is_finding(backend.regions[r], test_case.policy)) continue;
      if (!verdict.finding)
        verdict.fail({role, r}, find_issue);
      else
        verdict.add_known(signature_of(backend, backend.regions[r]), find_issue);
    }
  }
}

bool is_exact(const BackendVerdict& backend) {
  const auto exact = [](const RegionVerdict& region) { return region.exact == region.all_elements; };
  return !backend.regions.empty() && std::all_of(backend.regions.begin(), backend.regions.end(), exact);
}

bool is_large(const Graph& graph) {
  constexpr int64_t kLarge = int64_t{1} << 22;  // elements
  int64_t elements = 0;
  for (ValueId v = 0; v < graph.value_count(); ++v) elements += element_count(graph.type(v));
  return elements >= kLarge;
}

// Of a small graph regions are judged one after the other, since campaigns have threads of their own, and
// share what their references compute; of a large one, whose references take minutes, by a few threads.
template <class F>
std::vector<RegionVerdict> judge_each(const Graph& graph, size_t count, F judge_one) {
  constexpr unsigned kMostThreads = 8;  // each holds the references of one region
  std::vector<RegionVerdict> verdicts(count);
  std::atomic<size_t> next = 0;
  const auto work = [&] {
    for (size_t r = next++; r < count; r = next++) verdicts[r] = judge_one(r);
  };
  const unsigned threads =
      is_large(graph) ? std::clamp(std::thread::hardware_concurrency(), 1U, kMostThreads) : 1;
  std::vector<std::future<void>> others;
  try {
    for (unsigned t = 1; t < threads; ++t) others.push_back(std::async(std::launch::async, work));
  } catch (const std::system_error&) {  // no more threads here: fewer do the same work
  }
  work();
  for (auto& other : others) other.get();
  return verdicts;
}

RegionJudgeOptions of_execution(RegionJudgeOptions options, const Execution& execution) {
  options.coarsest = execution.coarsest;
  options.foreign = execution.foreign;
  options.is_kernel = execution.is_kernel;
  return options;
}

void judge_other_runs(const Graph& graph, const Execution& execution, const JudgeOptions& options,
                      BackendVerdict& verdict) {
  for (const Trace& run : execution.other_runs) judge_other_run(graph, execution, run, options, verdict);
}

BackendVerdict judge_regions(const Graph& graph, const Execution& execution,
                             const RegionJudgeOptions& options) {
  BackendVerdict verdict{execution.backend, {}, {}};
  verdict.regions = judge_each(graph, execution.plan->regions.size(), [&](size_t r) {
    return judge_region(graph, *execution.plan, r, *execution.trace, options);
  });
  return verdict;
}

}  // namespace

void add_disagreement(const Graph& graph, const Disagreement& found, BackendRole role, Verdict& verdict,
                      const FindIssue& find_issue) {
  BackendVerdict& backend = role == BackendRole::baseline ? verdict.baseline : verdict.candidate;
  RegionVerdict& region = backend.regions.at(found.region);
  region = disagreeing(graph, found, std::move(region));
  backend.verdict = most_severe(backend.regions);
  if (!verdict.finding) verdict.fail({role, found.region}, find_issue);
}

std::optional<size_t> judge_other_run(const Graph& graph, const Execution& execution, const Trace& other,
                                      const JudgeOptions& options, BackendVerdict& verdict) {
  const RegionJudgeOptions of_region =
      of_execution({options.minimal_deviations, false, options.sample}, execution);
  std::optional<size_t> first;
  for (size_t r = 0; r < verdict.regions.size(); ++r) {
    if (!differs(execution.plan->regions[r], *execution.trace, other)) continue;
    RegionVerdict again = judge_region(graph, *execution.plan, r, other, of_region);
    if (again.verdict <= verdict.regions[r].verdict) continue;
    again.other_run = true;
    verdict.regions[r] = std::move(again);
    if (!first && verdict.regions[r].verdict >= VerdictClass::nondeterministic) first = r;
  }
  verdict.verdict = most_severe(verdict.regions);
  return first;
}

BackendVerdict judge_backend(const Graph& graph, const Execution& execution, const JudgeOptions& options) {
  ReferenceMemo memo;
  BackendVerdict verdict = judge_regions(graph, execution,
                                         of_execution({options.minimal_deviations, false, options.sample,
                                                       nullptr, is_large(graph) ? nullptr : &memo},
                                                      execution));
  if (execution.disagreement) {
    RegionVerdict& region = verdict.regions.at(execution.disagreement->region);
    region = disagreeing(graph, *execution.disagreement, std::move(region));
  }
  verdict.verdict = most_severe(verdict.regions);
  return verdict;
}

Verdict judge(const Case& test_case, const Execution& baseline, const Execution& candidate,
              const JudgeOptions& options) {
  const Graph& graph = test_case.graph;
  check_plan(graph, *baseline.plan);
  check_plan(graph, *candidate.plan);
  Verdict verdict;
  const SameBits same = same_bits(*baseline.trace, *candidate.trace);
  RegionJudgeOptions region_options{options.minimal_deviations,
                                    test_case.policy.implicit_casts == Policy::ImplicitCasts::strict,
                                    options.sample, candidate.trace};
  region_options.sample.seed = test_case.seed;
  ReferenceMemo memo;
  if (!is_large(graph)) region_options.memo = &memo;
  const Trace candidate_trace = shared_trace(*baseline.trace, *candidate.trace, same);
  verdict.baseline = judge_regions(graph, baseline, of_execution(region_options, baseline));
  region_options = of_execution(region_options, candidate);
  region_options.other = baseline.trace;
  mark_disagreement(test_case, baseline, options.find_issue, verdict.baseline, verdict);
  verdict.candidate.backend = candidate.backend;
  verdict.candidate.regions = judge_each(graph, candidate.plan->regions.size(), [&](size_t r) {
    const Region& region = candidate.plan->regions[r];
    std::optional<RegionVerdict> known;
    if (has_same_bits(region, same)) known = inherit(graph, region, r, *baseline.plan, verdict.baseline);
    if (known && may_be_coarse(*known, candidate.coarsest)) known.reset();
    return known ? *known : judge_region(graph, *candidate.plan, r, candidate_trace, region_options);
  });
  mark_disagreement(test_case, candidate, options.find_issue, verdict.candidate, verdict);
  judge_other_runs(graph, baseline, options, verdict.baseline);
  judge_other_runs(graph, candidate, options, verdict.candidate);
  mark_identical(graph, *baseline.plan, *candidate.plan, same, verdict.baseline);
  mark_identical(graph, *candidate.plan, *baseline.plan, same, verdict.candidate);
  verdict.baseline.verdict = most_severe(verdict.baseline.regions);
  verdict.candidate.verdict = most_severe(verdict.candidate.regions);
  compare_outputs(graph, *baseline.trace, *candidate.trace, verdict);
  verdict.verdict = std::max(verdict.baseline.verdict, verdict.candidate.verdict);
  if (verdict.verdict <= VerdictClass::reassociation)
    verdict.verdict = verdict.unequal == 0 ? VerdictClass::identical : VerdictClass::reassociation;
  conclude(test_case, changed_input(graph, same), options.find_issue, verdict);
  for (const RegionVerdict& region : verdict.candidate.regions) {
    for (const Deviation& deviation : region.deviations) verdict.deviations.insert(to_string(deviation));
  }
  verdict.exact = is_exact(verdict.baseline) && is_exact(verdict.candidate);
  return verdict;
}

}  // namespace fusesmith::oracle

#include "oracle/judge.h"

#include <algorithm>
#include <atomic>
#include <cmath>
#include <future>
#include <thread>

#include "oracle/region_judge.h"

namespace fusesmith::oracle {
namespace {

bool same_bits(const TensorPtr& a, const TensorPtr& b) { return a && b && (a == b || *a == *b); }

// A candidate region whose inputs and outputs are, bit for bit, those of the baseline: its outputs are then
// what lawful unfused regions made of the same inputs, and need no second judgement. Values that the trace
// lacks prove nothing.
bool is_inherited(const Region& region, const Trace& baseline, const Trace& candidate) {
  const auto same = [&](ValueId v) {
    return same_bits(baseline.values[static_cast<size_t>(v)], candidate.values[static_cast<size_t>(v)]);
  };
  return std::all_of(region.inputs.begin(), region.inputs.end(), same) &&
         std::all_of(region.outputs.begin(), region.outputs.end(), same);
}

// The baseline's verdict on the nodes of a candidate region, if it judged each by itself and found it lawful.
std::optional<RegionVerdict> inherit(const Graph& graph, const Region& region, size_t index, const Plan& plan,
                                     const BackendVerdict& baseline) {
  VerdictClass gravest = VerdictClass::reassociation;
  RegionVerdict verdict;
  for (int node : region.nodes) {
    bool found = false;
    for (size_t r = 0; r < plan.regions.size() && !found; ++r) {
      if (plan.regions[r].nodes != std::vector<int>{node}) continue;
      const RegionVerdict& own = baseline.regions[r];
      gravest = std::max(gravest, own.verdict);
      verdict = own;
      found = true;
    }
    if (!found) return std::nullopt;
  }
  if (gravest != VerdictClass::reassociation) return std::nullopt;
  verdict.region = index;
  verdict.name = graph.nodes()[static_cast<size_t>(region.nodes.back())].name;
  verdict.patterns = region.patterns;
  verdict.inherited = true;
  return verdict;
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
std::optional<ValueId> changed_input(const Graph& graph, const Trace& baseline, const Trace& candidate) {
  for (ValueId v = 0; graph.is_input(v); ++v) {
    if (!same_bits(baseline.values[static_cast<size_t>(v)], candidate.values[static_cast<size_t>(v)]))
      return v;
  }
  return std::nullopt;
}

bool is_finding(const RegionVerdict& r, const Policy& policy) {
  if (r.verdict >= VerdictClass::nondeterministic) return true;
  return r.verdict == VerdictClass::precision_policy &&
         (!r.declared || policy.implicit_casts == Policy::ImplicitCasts::strict);
}

VerdictClass gravest(const std::vector<RegionVerdict>& regions) {
  VerdictClass result = VerdictClass::reassociation;
  for (const RegionVerdict& r : regions) result = std::max(result, r.verdict);
  return result;
}

// The first guilty region in order of execution: later ones may only suffer from it.
const RegionVerdict* first_finding(const BackendVerdict& backend, const Policy& policy) {
  for (const RegionVerdict& r : backend.regions) {
    if (is_finding(r, policy)) return &r;
  }
  return nullptr;
}

void compare_outputs(const Graph& graph, const Trace& a, const Trace& b, Verdict& verdict) {
  for (ValueId v : graph.outputs()) {
    const Tensor &x = *a.values[static_cast<size_t>(v)], &y = *b.values[static_cast<size_t>(v)];
    verdict.output_elements += x.size();
    if (x == y) continue;
    const size_t size = static_cast<size_t>(size_of(x.type.dtype));
    for (int64_t i = 0; i < x.size(); ++i) {
      const size_t at = static_cast<size_t>(i) * size;
      if (std::equal(x.bytes.begin() + static_cast<std::ptrdiff_t>(at),
                     x.bytes.begin() + static_cast<std::ptrdiff_t>(at + size),
                     y.bytes.begin() + static_cast<std::ptrdiff_t>(at))) {
        continue;
      }
      ++verdict.unequal;
      const double difference = std::fabs(x.value(i) - y.value(i));
      if (difference > verdict.max_difference) verdict.max_difference = difference;
    }
  }
}

// A region that disagrees with itself fails whatever its bounds say: what it holds in one run proves
// nothing of the next.
void mark_disagreement(const Graph& graph, const std::optional<Disagreement>& disagreement,
                       BackendVerdict& verdict) {
  if (!disagreement) return;
  const Disagreement& found = *disagreement;
  RegionVerdict& region = verdict.regions.at(found.region);
  region.verdict =
      found.kind == Disagreement::Kind::repeat ? VerdictClass::nondeterministic : VerdictClass::defect;
  region.symptom = std::string(name(found.kind));
  region.inherited = false;
  if (found.kind == Disagreement::Kind::guard) return;
  region.worst = {};
  region.worst.value = graph.name(found.value);
  region.worst.element = found.element;
  region.worst.got = found.second;
  region.worst.want = region.worst.lo = region.worst.hi = found.first;
}

// The finding, if there is one: its class, and the signature of the first guilty region.
void conclude(const Case& test_case, std::optional<ValueId> changed, Verdict& verdict) {
  if (changed) {
    verdict.finding = true;
    verdict.verdict = VerdictClass::defect;
    verdict.reason =
        "the trace holds other bits of input '" + test_case.graph.name(*changed) + "' than were given";
    const Dtype dtype = test_case.graph.type(*changed).dtype;
    verdict.signature = make_signature(verdict.verdict, verdict.candidate.backend, "inputs",
                                       std::string(name(dtype)), "input_changed");
    return;
  }
  for (const BackendVerdict* backend : {&verdict.candidate, &verdict.baseline}) {
    const RegionVerdict* guilty = first_finding(*backend, test_case.policy);
    if (!guilty) continue;
    verdict.finding = true;
    verdict.verdict = guilty->verdict;
    const std::string culprit = guilty->patterns.empty() ? guilty->op : guilty->patterns.front();
    verdict.signature = make_signature(guilty->verdict, backend->backend, culprit,
                                       std::string(name(guilty->dtype)), guilty->symptom);
    return;
  }
}

bool is_exact(const BackendVerdict& backend) {
  const auto exact = [](const RegionVerdict& region) { return region.exact == region.elements; };
  return !backend.regions.empty() && std::all_of(backend.regions.begin(), backend.regions.end(), exact);
}

// Regions know nothing of each other. Of a small graph they are judged one after the other, since campaigns
// have threads of their own; of a large one, whose references take minutes, by a few threads.
template <class F>
std::vector<RegionVerdict> judge_each(const Graph& graph, size_t count, F judge_one) {
  constexpr int64_t kLarge = int64_t{1} << 22;  // elements
  constexpr unsigned kMostThreads = 8;          // each holds the references of one region
  int64_t elements = 0;
  for (ValueId v = 0; v < graph.value_count(); ++v) elements += element_count(graph.type(v));
  std::vector<RegionVerdict> verdicts(count);
  std::atomic<size_t> next = 0;
  const auto work = [&] {
    for (size_t r = next++; r < count; r = next++) verdicts[r] = judge_one(r);
  };
  const unsigned threads =
      elements < kLarge ? 1 : std::clamp(std::thread::hardware_concurrency(), 1U, kMostThreads);
  std::vector<std::future<void>> others;
  for (unsigned t = 1; t < threads; ++t) others.push_back(std::async(std::launch::async, work));
  work();
  for (auto& other : others) other.get();
  return verdicts;
}

BackendVerdict judge_regions(const Graph& graph, const Execution& execution,
                             const RegionJudgeOptions& options) {
  BackendVerdict verdict{execution.backend, {}, {}};
  verdict.regions = judge_each(graph, execution.plan->regions.size(), [&](size_t r) {
    return judge_region(graph, *execution.plan, r, *execution.trace, options);
  });
  mark_disagreement(graph, execution.disagreement, verdict);
  verdict.verdict = gravest(verdict.regions);
  return verdict;
}

}  // namespace

std::string_view name(VerdictClass verdict) { return kVerdictNames[static_cast<size_t>(verdict)]; }

std::optional<VerdictClass> parse_verdict(std::string_view text) {
  for (size_t i = 0; i < kVerdictNames.size(); ++i) {
    if (kVerdictNames[i] == text) return static_cast<VerdictClass>(i);
  }
  return std::nullopt;
}

std::string make_signature(VerdictClass verdict, const std::string& backend, const std::string& culprit,
                           const std::string& dtype, const std::string& symptom) {
  std::string text = std::string(name(verdict)) + "-" + backend + "-" + culprit + "-" + dtype + "-" + symptom;
  for (char& c : text) {
    const bool safe = (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') ||
                      c == '_' || c == '-' || c == '.';
    if (!safe) c = '_';
  }
  return text;
}

std::string_view name(Disagreement::Kind kind) {
  switch (kind) {
    case Disagreement::Kind::guard:
      return "guard_overwritten";
    case Disagreement::Kind::poison:
      return "depends_on_unwritten_memory";
    case Disagreement::Kind::repeat:
      return "repeat_differs";
    case Disagreement::Kind::production:
      return "production_differs";
    case Disagreement::Kind::source:
      return "source_overwritten";
    case Disagreement::Kind::scaling:
      return "scaling_differs";
    case Disagreement::Kind::exchange:
      return "exchange_differs";
  }
  return "";
}

void add_disagreement(const Case& test_case, const Disagreement& found, BackendVerdict& backend,
                      Verdict& verdict) {
  mark_disagreement(test_case.graph, found, backend);
  backend.verdict = gravest(backend.regions);
  if (!verdict.finding) conclude(test_case, {}, verdict);
}

BackendVerdict judge_backend(const Graph& graph, const Execution& execution, const JudgeOptions& options) {
  return judge_regions(graph, execution, {options.minimal_deviations, false});
}

Verdict judge(const Case& test_case, const Execution& baseline, const Execution& candidate,
              const JudgeOptions& options) {
  const Graph& graph = test_case.graph;
  check_plan(graph, *baseline.plan);
  check_plan(graph, *candidate.plan);
  Verdict verdict;
  const RegionJudgeOptions region_options{options.minimal_deviations,
                                          test_case.policy.implicit_casts == Policy::ImplicitCasts::strict};
  verdict.baseline = judge_regions(graph, baseline, region_options);
  verdict.candidate.backend = candidate.backend;
  verdict.candidate.regions = judge_each(graph, candidate.plan->regions.size(), [&](size_t r) {
    const Region& region = candidate.plan->regions[r];
    std::optional<RegionVerdict> known;
    if (is_inherited(region, *baseline.trace, *candidate.trace))
      known = inherit(graph, region, r, *baseline.plan, verdict.baseline);
    return known ? *known : judge_region(graph, *candidate.plan, r, *candidate.trace, region_options);
  });
  mark_disagreement(graph, candidate.disagreement, verdict.candidate);
  verdict.candidate.verdict = gravest(verdict.candidate.regions);
  compare_outputs(graph, *baseline.trace, *candidate.trace, verdict);
  verdict.verdict = std::max(verdict.baseline.verdict, verdict.candidate.verdict);
  if (verdict.verdict == VerdictClass::reassociation && verdict.unequal == 0)
    verdict.verdict = VerdictClass::identical;
  conclude(test_case, changed_input(graph, *baseline.trace, *candidate.trace), verdict);
  for (const RegionVerdict& region : verdict.candidate.regions) {
    for (const Deviation& deviation : region.deviations) verdict.deviations.insert(to_string(deviation));
  }
  verdict.exact = is_exact(verdict.baseline) && is_exact(verdict.candidate);
  return verdict;
}

}  // namespace fusesmith::oracle

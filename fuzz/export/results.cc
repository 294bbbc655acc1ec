#include "fuzz/export/results.h"

#include <algorithm>
#include <cmath>
#include <limits>

#include "fuzz/report/verdict_text.h"
#include "oracle/reference.h"
#include "oracle/region_judge.h"

namespace fusesmith::fuzz {
namespace {

constexpr int64_t kMaxResults = int64_t{1} << 24;  // elements of all values

constexpr double kInfinity = std::numeric_limits<double>::infinity();

// Where nothing is known of an element, any stored value is within bounds.
Interval interval_of(const RegionOutput& output, size_t i) {
  const Bounded& b = *output.bounded;
  const double e = b.error(i);
  if (std::isinf(e)) return {-kInfinity, kInfinity};
  if (!is_rounded(b.type.dtype)) return {b.v[i], b.v[i]};
  return stored_interval(b.type.dtype, output.computed, b.v[i], e);
}

StoredResult stored_result(const RegionOutput& output, size_t region, const Trace& trace) {
  const size_t n = output.bounded->v.size();
  StoredResult result{region, trace.values[static_cast<size_t>(output.value)], output.bounded->v, {}, {}};
  result.low.resize(n);
  result.high.resize(n);
  for (size_t i = 0; i < n; ++i) {
    const Interval lawful = interval_of(output, i);
    result.low[i] = lawful.lo;
    result.high[i] = lawful.hi;
  }
  return result;
}

// Widens the intervals of the strict reading to those of the reading that the verdict reports: both are
// lawful. An element that is outside of the latter does not become lawful by lying between them.
void allow(const RegionOutput& output, StoredResult& result) {
  for (size_t i = 0; i < result.low.size(); ++i) {
    const Interval strict{result.low[i], result.high[i]}, reported = interval_of(output, i);
    if (std::isnan(strict.lo) || std::isnan(reported.lo)) continue;
    const double got = result.got->value(static_cast<int64_t>(i));
    result.low[i] = std::fmin(strict.lo, reported.lo);
    result.high[i] = std::fmax(strict.hi, reported.hi);
    const bool is_between = !result.is_outside(i) && (got < reported.lo || got > reported.hi);
    if (!is_between) continue;
    result.low[i] = strict.lo;
    result.high[i] = strict.hi;
  }
}

BackendResults backend_results(const Case& judged, const BackendVerdict& verdict, const Plan& plan,
                               const Trace& trace) {
  BackendResults results{verdict.backend, &plan, trace, {}};
  const bool strict = judged.policy.implicit_casts == Policy::ImplicitCasts::strict;
  for (const RegionVerdict& region : verdict.regions) {
    const Region& planned = plan.regions[region.region];
    const Reading reading = reported_reading(judged.graph, planned, trace, region, strict);
    for (const RegionOutput& output : evaluate(judged.graph, planned, trace, {}))
      results.values.emplace(output.value, stored_result(output, region.region, trace));
    if (reading.deviations.empty()) continue;
    for (const RegionOutput& output : evaluate(judged.graph, planned, trace, reading))
      allow(output, results.values.at(output.value));
  }
  return results;
}

ShownElement shown(ValueId value, const StoredResult& result, size_t i) {
  return {value,           static_cast<int64_t>(i), result.got->value(static_cast<int64_t>(i)),
          result.exact[i], result.low[i],           result.high[i]};
}

// The judge's evidence of the region.
std::optional<ShownElement> evidence(const Graph& graph, const BackendResults& backend,
                                     const RegionVerdict& region) {
  const auto value = graph.find(region.worst.value);
  const auto found = value ? backend.values.find(*value) : backend.values.end();
  if (found == backend.values.end()) return {};
  return shown(*value, found->second, static_cast<size_t>(region.worst.element));
}

bool is_exact(const StoredResult& result) {
  for (size_t i = 0; i < result.exact.size(); ++i) {
    const double got = result.got->value(static_cast<int64_t>(i));
    if (got != result.exact[i] && !(std::isnan(got) && std::isnan(result.exact[i]))) return false;
  }
  return true;
}

}  // namespace

const BackendResults& CaseResults::shown() const {
  const auto& failing = run.verdict.failing_region;
  return failing ? of(failing->role) : candidate;
}

bool is_only_moved(const Graph& graph, const BackendResults& backend, ValueId value) {
  const auto producer = graph.producer(value);
  if (!producer) return true;
  const Node& node = graph.nodes()[static_cast<size_t>(*producer)];
  const auto stored = backend.values.find(value);
  return !oracle::computes(node.op) && stored != backend.values.end() && is_exact(stored->second) &&
         std::all_of(node.inputs.begin(), node.inputs.end(),
                     [&](ValueId input) { return is_only_moved(graph, backend, input); });
}

bool StoredResult::is_outside(size_t element) const {
  const double x = got->value(static_cast<int64_t>(element)), lo = low[element], hi = high[element];
  if (lo == -kInfinity && hi == kInfinity) return false;
  if (std::isnan(lo) || std::isnan(x)) return std::isnan(lo) != std::isnan(x);
  return x < lo || x > hi;
}

Result<CaseResults> results_of(const Case& test_case, const Judging& judging, const std::string& signature) {
  int64_t elements = 0;
  for (ValueId v = 0; v < test_case.graph.value_count(); ++v)
    elements += element_count(test_case.graph.type(v));
  if (elements > kMaxResults) {
    return Problem{"results of " + std::to_string(elements) + " elements are too large: at most " +
                   std::to_string(kMaxResults) + "; minimize the case first"};
  }
  Reproduction seen =
      reproduce(test_case, signature, judging, signature.empty() ? 1 : kMostTrials, judging.options.stop);
  CaseResults results{std::move(seen.run), {}, {}, seen.rate};
  const Verdict& verdict = results.run.verdict;
  if (!results.run.baseline || !results.run.candidate)
    return Problem{"no results: " + std::string(name(verdict.verdict)) + ": " + verdict.reason};
  const Case judged = with_options(test_case, judging.options);
  results.baseline =
      backend_results(judged, verdict.baseline, results.run.baseline->plan(), results.run.baseline_trace);
  results.candidate =
      backend_results(judged, verdict.candidate, results.run.candidate->plan(), results.run.candidate_trace);
  return results;
}

std::vector<ShownElement> shown_elements(const Graph& graph, const CaseResults& results, size_t most) {
  const Verdict& verdict = results.run.verdict;
  std::vector<ShownElement> elements;
  const auto add = [&](const std::optional<ShownElement>& element) {
    if (!element || elements.size() >= most) return;
    const bool known = std::any_of(elements.begin(), elements.end(), [&](const ShownElement& e) {
      return e.value == element->value && e.element == element->element;
    });
    if (!known) elements.push_back(*element);
  };
  if (!verdict.failing_region) {
    for (ValueId value : graph.outputs()) {
      const auto found = results.candidate.values.find(value);
      if (found == results.candidate.values.end()) continue;
      const StoredResult& result = found->second;
      const auto region = std::find_if(verdict.candidate.regions.begin(), verdict.candidate.regions.end(),
                                       [&](const RegionVerdict& r) { return r.region == result.region; });
      const bool is_worst = region->worst.value == graph.name(value);
      add(shown(value, result, is_worst ? static_cast<size_t>(region->worst.element) : 0));
    }
    return elements;
  }
  const BackendResults& backend = results.of(verdict.failing_region->role);
  add(evidence(graph, backend, *verdict.failing()));
  for (const auto& [value, result] : backend.values) {
    if (result.region != verdict.failing_region->region) continue;
    for (size_t i = 0; i < result.low.size() && elements.size() < most; ++i) {
      if (result.is_outside(i)) add(shown(value, result, i));
    }
  }
  return elements;
}

std::optional<FailureMark> failure_mark(const Graph& graph, const CaseRun& run) {
  const Verdict& verdict = run.verdict;
  if (!verdict.failing_region) return {};
  const bool is_baseline = verdict.failing_region->role == BackendRole::baseline;
  const Plan& plan = (is_baseline ? run.baseline : run.candidate)->plan();
  const std::vector<int>& nodes = plan.regions[verdict.failing_region->region].nodes;
  return FailureMark{{nodes.begin(), nodes.end()},
                     graph.find(verdict.failing()->worst.value).value_or(-1),
                     std::string(name(verdict.verdict)) + ": " + evidence_text(verdict)};
}

}  // namespace fusesmith::fuzz

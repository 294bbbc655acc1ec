#include "fuzz/report/finding_facts.h"

#include <algorithm>
#include <cmath>
#include <numeric>

#include "fuzz/base/escape.h"
#include "fuzz/base/table.h"
#include "fuzz/report/symptoms.h"
#include "fuzz/report/verdict_text.h"
#include "graph/element_index.h"
#include "oracle/ordinal.h"

namespace fusesmith::fuzz {

namespace {

// Four significant digits, or all of them where the two numbers would look the same.
std::string shortest(double x, double beside) {
  if (std::isnan(x)) return "NaN";
  char text[32], other[32];
  std::snprintf(text, sizeof text, "%.4g", x);
  std::snprintf(other, sizeof other, "%.4g", beside);
  const bool alike = std::string(text) == other && x != beside;
  return alike || !std::isfinite(x) ? number_text(x) : text;
}

std::string interval_text(double lo, double hi) {
  return "[" + shortest(lo, hi) + ", " + shortest(hi, lo) + "]";
}

BackendRole other_role(BackendRole role) {
  return role == BackendRole::candidate ? BackendRole::baseline : BackendRole::candidate;
}

const Trace& trace_of(const CaseRun& run, BackendRole role) {
  return role == BackendRole::candidate ? run.candidate_trace : run.baseline_trace;
}

// The size on which a failure of such a region often depends: "key length 34", else the shapes that it reads.
std::string size_text(const Graph& graph, const Region& region) {
  std::optional<int64_t> row;
  bool product = false;
  for (const int node : region.nodes) {
    const Node& one = graph.nodes()[static_cast<size_t>(node)];
    if (name(one.op) == "sdpa") {
      const Shape& keys = graph.type(one.inputs[1]).shape;
      return "key length " + std::to_string(keys[keys.size() - 2]);
    }
    const Shape& shape = graph.type(one.first_output).shape;
    product = product || name(one.op) == "matmul" || name(one.op) == "einsum";
    if (const auto* softmax = std::get_if<Softmax>(&one.op)) {
      const auto axis =
          softmax->axis < 0 ? softmax->axis + static_cast<int64_t>(shape.size()) : softmax->axis;
      if (axis >= 0 && axis < static_cast<int64_t>(shape.size())) row = shape[static_cast<size_t>(axis)];
    }
  }
  if (row) return (product ? "key length " : "row length ") + std::to_string(*row);
  std::string text;
  for (size_t i = 0; i < region.inputs.size() && i < 2; ++i)
    text += (i > 0 ? " and " : "") + to_string(graph.type(region.inputs[i]).shape);
  return text.empty() ? "" : (region.inputs.size() > 1 ? "shapes " : "shape ") + text;
}

std::string list_ops(const Graph& graph, const std::vector<int>& nodes) {
  constexpr size_t kMost = 8;
  std::vector<std::string> ops;
  for (size_t i = 0; i < nodes.size() && i < kMost; ++i)
    ops.emplace_back(name(graph.nodes()[static_cast<size_t>(nodes[i])].op));
  if (nodes.size() > kMost) ops.push_back(std::to_string(nodes.size() - kMost) + " more");
  return list_text(ops);
}

std::string all_ops(const Graph& graph) {
  std::vector<int> nodes(graph.nodes().size());
  std::iota(nodes.begin(), nodes.end(), 0);
  return list_ops(graph, nodes);
}

// ", reading x by its strides and y from a dense copy"; empty if no input has a layout.
std::string layouts_text(const Graph& graph, const Region& region) {
  const auto names = [&](const std::vector<ValueId>& values) {
    std::vector<std::string> words;
    for (ValueId v : values) words.push_back(graph.name(v));
    return list_text(words);
  };
  std::string text;
  if (!region.strided.empty()) text += names(region.strided) + " by strides";
  if (!region.copied.empty())
    text += (text.empty() ? "" : " and ") + names(region.copied) + " from a dense copy";
  return text.empty() ? "" : ", reading " + text;
}

std::string computes_text(const Case& test_case, const RegionVerdict& region, const Region* planned,
                          const std::string& backend) {
  const std::string where = region.name + " (" + std::string(name(region.dtype)) + ")";
  const std::string ops = planned ? list_ops(test_case.graph, planned->nodes) : region.op;
  const std::string layouts = planned ? layouts_text(test_case.graph, *planned) : "";
  if (region.patterns.empty() && planned && planned->nodes.size() > 1)
    return backend + " is given " + ops + " as one program, and only its outputs are read; what fails is " +
           where + layouts;
  if (region.patterns.empty())
    return backend + " computes " + where + " with its kernel for " + ops + layouts;
  const std::string patterns = list_text(region.patterns);
  return backend + " computes " + where + " in one fused kernel, made by the rewrite " + patterns +
         (ops == patterns ? "" : " from: " + ops) + layouts;
}

ElementFacts element_of(const Case& test_case, const CaseRun& run, const RegionVerdict& region) {
  const ElementEvidence& worst = region.worst;
  ElementFacts facts{.value = worst.value, .got = worst.got, .exact = worst.want};
  facts.lowest = worst.lo, facts.highest = worst.hi, facts.ulps_outside = worst.steps_outside;
  facts.type.dtype = region.dtype;
  const auto value = test_case.graph.find(worst.value);
  if (value) {
    facts.type = test_case.graph.type(*value);
    facts.index = unravelled(worst.element, facts.type.shape);
    const auto& values = trace_of(run, other_role(run.verdict.failing_region->role)).values;
    const auto at = static_cast<size_t>(*value);
    if (at < values.size() && values[at] && worst.element < values[at]->size())
      facts.other = values[at]->value(worst.element);
  }
  facts.rounded = round_to(facts.type.dtype, worst.want);
  if (std::isfinite(worst.lo) && std::isfinite(worst.hi))
    facts.allowed_values = ordinal(facts.type.dtype, worst.hi) - ordinal(facts.type.dtype, worst.lo) + 1;
  return facts;
}

// "1.781 where 1 is the only correct value"
std::string wrong_value_text(const ElementFacts& element) {
  const std::string got = shortest(element.got, element.exact);
  if (element.lowest == element.highest || std::isnan(element.lowest))
    return got + " where " + shortest(element.lowest, element.got) + " is the only correct value";
  return got + " where " + interval_text(element.lowest, element.highest) + " is correct";
}

// "cast0, cast1": the casts that a region leaves out.
std::string skipped_casts(const RegionVerdict& region) {
  std::vector<std::string> values;
  for (const Deviation& deviation : region.deviations) values.push_back(deviation.value);
  return list_text(values);
}

// " in ONNX Runtime (ort:all)": a maintainer looks for the name of the project. Empty for our own backends.
std::string library_text(const std::string& backend) {
  constexpr std::pair<std::string_view, std::string_view> kLibraries[] = {
      {"torch:", "PyTorch"}, {"ort:", "ONNX Runtime"}, {"jax:", "JAX"}};
  for (const auto& [prefix, library] : kLibraries) {
    if (backend.starts_with(prefix)) return " in " + std::string(library) + " (" + backend + ")";
  }
  return "";
}

// The start of what a backend said, without its name.
std::string title_reason(std::string reason, const std::string& backend) {
  constexpr size_t kMost = 100;
  reason = printable(reason.substr(0, reason.find('\n')));
  if (reason.starts_with(backend + ": ")) reason.erase(0, backend.size() + 2);
  if (reason.size() <= kMost) return reason;
  const size_t blank = reason.rfind(' ', kMost);
  return reason.substr(0, blank == std::string::npos ? kMost : blank) + " ...";
}

std::string title_of(const Case& test_case, const Verdict& verdict, const FindingFacts& facts,
                     const Region* planned) {
  const RegionVerdict* region = verdict.failing();
  if (!region) {
    const std::string component = verdict.signature ? verdict.signature->component : "graph";
    const std::string what = component == "graph" ? "graph of " + all_ops(test_case.graph) : component;
    const Symptom symptom = verdict.signature ? verdict.signature->symptom : Symptom::none;
    const std::string& backend = verdict.signature ? verdict.signature->backend : facts.backend;
    const std::string library = library_text(backend), reason = title_reason(verdict.reason, backend);
    return what + (library.empty() ? " on " + backend : library) + ": " + std::string(what_happens(symptom)) +
           (reason.empty() ? "" : ": " + reason);
  }
  std::string text = region->component() + " (" + std::string(name(region->dtype)) + ")" +
                     library_text(facts.backend) + ": ";
  if (!is_disagreement(*region) && (region->symptom == Symptom::out_of_bounds || is_special(region->symptom)))
    text += wrong_value_text(*facts.element);
  else if (region->symptom == Symptom::explicit_cast_skipped)
    text += "the rounding of " + skipped_casts(*region) + " is skipped: " + wrong_value_text(*facts.element);
  else
    text += what_happens(region->symptom);
  if (region->symptom == Symptom::undeclared_rounding || region->symptom == Symptom::declared_rounding) {
    std::vector<std::string> words;
    for (const Deviation& deviation : region->deviations) words.push_back(to_string(deviation));
    text += " (" + list_text(words) + ")";
  }
  const std::string size = planned ? size_text(test_case.graph, *planned) : "";
  return text + (size.empty() ? "" : ", " + size);
}

std::string ablation_text(const Ablation& ablation) {
  if (!ablation.outcome) return "Not tried, for want of time: " + ablation.what + ".";
  switch (*ablation.outcome) {
    case Outcome::fails:
      return "With " + ablation.what + " it still fails: this is not the cause.";
    case Outcome::passes:
    case Outcome::not_applied:
      return "With " + ablation.what + " it passes.";
    case Outcome::fails_alike:
    case Outcome::other:
      break;
  }
  return "With " + ablation.what + " it fails in another way, or cannot be judged.";
}

// One sentence in place of those of the modes, if the case fails in several other modes of its worker, and in
// all of them; else empty.
std::string all_modes_text(const std::vector<Ablation>& ablations) {
  std::vector<std::string> modes;
  for (const Ablation& one : ablations) {
    if (one.kind != Ablation::Kind::mode) continue;
    if (one.outcome != Outcome::fails) return "";
    modes.push_back(one.what.substr(0, one.what.find(" in place")));
  }
  if (modes.size() < 2) return "";
  return "In every other mode that was tried it fails as well (" + list_text(modes) +
         "): the cause is not an optimization in which they differ, and no optimization was isolated.";
}

std::vector<std::string> ruled_out(const JudgedCase& judged, const std::vector<Ablation>& ablations) {
  const Verdict& verdict = judged.seen.run.verdict;
  const RegionVerdict* region = verdict.failing();
  std::vector<std::string> lines;
  std::string modes = all_modes_text(ablations);
  for (const Ablation& ablation : ablations) {
    if (modes.empty() || ablation.kind != Ablation::Kind::mode) lines.push_back(ablation_text(ablation));
  }
  if (!modes.empty()) lines.push_back(std::move(modes));
  if (!region) return lines;
  const BackendVerdict& other = verdict.of(other_role(verdict.failing_region->role));
  if (!other.regions.empty() && other.verdict <= VerdictClass::precision_policy &&
      other_failure_text(verdict).empty())
    lines.push_back("Not the graph itself: " + told_backend(other.backend) +
                    " computes the same graph, and each of its regions is within its own bounds.");
  if (!is_disagreement(*region))
    lines.push_back(
        "Not chance and not unwritten memory: the backend repeated the run, with other bytes in unwritten "
        "memory if it can, and got the same bits.");
  if (judged.test_case.steps == 1) lines.push_back("Not a state of an earlier step: the case has one step.");
  return lines;
}

}  // namespace

const Region* failing_plan_region(const CaseRun& run) {
  if (!run.verdict.failing_region) return nullptr;
  const auto [role, region] = *run.verdict.failing_region;
  const Program* program = role == BackendRole::candidate ? run.candidate.get() : run.baseline.get();
  return program && region < program->plan().regions.size() ? &program->plan().regions[region] : nullptr;
}

std::string told_backend(const std::string& backend) {
  return backend == "cpu" ? "fusesmith's own backend cpu" : backend;
}

std::vector<int> failing_nodes(const CaseRun& run) {
  const Region* region = failing_plan_region(run);
  return region ? region->nodes : std::vector<int>{};
}

FindingFacts facts_of(const JudgedCase& judged, const std::vector<Ablation>& ablations) {
  const CaseRun& run = judged.seen.run;
  const Verdict& verdict = run.verdict;
  FindingFacts facts;
  facts.rate = judged.seen.rate;
  const BackendRole role = verdict.failing_region ? verdict.failing_region->role : BackendRole::candidate;
  facts.backend = verdict.of(role).backend;
  facts.other_backend = verdict.of(other_role(role)).backend;
  const RegionVerdict* region = verdict.failing();
  const Region* planned = failing_plan_region(run);
  facts.other_fails = other_failure_text(verdict);
  facts.nodes = failing_nodes(run);
  if (region) {
    facts.computes = computes_text(judged.test_case, *region, planned, facts.backend);
    facts.element = element_of(judged.test_case, run, *region);
    const Argument argument = argument_of(region->symptom, region->worst.bound == 0);
    facts.argument = argument.name, facts.why_sure = argument.meaning;
    facts.outside = region->outside, facts.elements = region->elements;
    facts.all_elements = region->all_elements;
  }
  facts.title = title_of(judged.test_case, verdict, facts, planned);
  facts.ruled_out = ruled_out(judged, ablations);
  facts.comparisons = comparisons_of(judged.test_case, run);
  return facts;
}

}  // namespace fusesmith::fuzz

#include "fuzz/library/judge_call.h"

#include <algorithm>

#include "backends/remote/remote_plan.h"
#include "fuzz/base/table.h"
#include "fuzz/library/tensor_copy.h"
#include "fuzz/report/resolution_text.h"
#include "fuzz/report/verdict_json.h"
#include "fuzz/report/verdict_text.h"
#include "graph/json_strict.h"

namespace fusesmith::fuzz {

namespace {

using Json = nlohmann::ordered_json;

constexpr unsigned kMostThreads = 1024;

// What a kernel returns: outputs, then the next values of states, each once, without inputs and states.
std::vector<ValueId> returned_values(const Graph& graph) {
  std::vector<ValueId> values;
  const auto add = [&](ValueId v) {
    if (v >= graph.source_count() && std::find(values.begin(), values.end(), v) == values.end())
      values.push_back(v);
  };
  for (const ValueId v : graph.outputs()) add(v);
  for (const State& state : graph.states()) add(state.next);
  return values;
}

std::optional<Problem> wrong_count(const char* what, size_t expected, size_t got) {
  if (expected == got) return std::nullopt;
  return Problem{std::string(what) + ": expected " + std::to_string(expected) + " tensors, got " +
                 std::to_string(got)};
}

Result<Trace> trace_of(const Graph& graph, const fusesmith_call& call) {
  const std::vector<ValueId> returned = returned_values(graph);
  const auto sources = static_cast<size_t>(graph.source_count());
  if (auto problem = wrong_count("inputs", sources, call.input_count)) return *problem;
  if (auto problem = wrong_count("outputs", returned.size(), call.output_count)) return *problem;
  Trace trace;
  trace.values.resize(static_cast<size_t>(graph.value_count()));
  const auto take = [&](ValueId v, const DLTensor& given) -> std::optional<Problem> {
    const bool is_output = v >= graph.source_count();
    auto copy = copy_of(given, graph.type(v), (is_output ? "output " : "") + graph.name(v));
    if (!copy) return Problem{copy.problem()};
    trace.values[static_cast<size_t>(v)] = std::make_shared<Tensor>(std::move(*copy));
    return std::nullopt;
  };
  for (size_t i = 0; i < sources; ++i) {
    if (auto problem = take(static_cast<ValueId>(i), call.inputs[i])) return *problem;
  }
  for (size_t i = 0; i < returned.size(); ++i) {
    if (auto problem = take(returned[i], call.outputs[i])) return *problem;
  }
  return trace;
}

std::string passed_sentence(const RegionVerdict& whole, const Verdict& verdict) {
  std::string text = whole.verdict == VerdictClass::inconclusive
                         ? "Every element is within its bound, but the bound is too large to decide."
                         : "Every element is within its bound; the largest error is " +
                               short_number(whole.worst_share) + " of it.";
  for (const Diagnosis& one : whole.arithmetic)
    text += " It is right if it is meant that " + one.says + " (declare " + one.declaration + ").";
  if (whole.verdict == VerdictClass::inconclusive) text += fails_with_text(verdict);
  return text + resolution_text(verdict) + sampled_text(verdict) + loose_text(verdict);
}

std::string undeclared_sentence(const Verdict& verdict) {
  return "Right only if roundings are left out that the contract does not allow to leave out: " +
         evidence_text(verdict) + ".";
}

// Of a plan with one region.
Json described(BackendVerdict judged) {
  Verdict verdict;
  verdict.candidate = std::move(judged);
  verdict.verdict = verdict.candidate.verdict;
  const RegionVerdict& whole = verdict.candidate.regions.front();
  const bool fails = whole.symptom != Symptom::none;
  if (fails) verdict.fail({BackendRole::candidate, whole.region});
  const bool misses_roundings = verdict.verdict == VerdictClass::precision_policy;
  return {{"ok", !fails && verdict.verdict != VerdictClass::inconclusive},
          {"verdict", name(verdict.verdict)},
          {"finding", fails},
          {"sentence", !fails             ? passed_sentence(whole, verdict)
                       : misses_roundings ? undeclared_sentence(verdict)
                                          : sentence(verdict)},
          {"regions", to_json(verdict.candidate)["regions"]}};
}

// That of functions, with what the kernel declares in place of it.
nlohmann::json contract_with(const nlohmann::json& declared) {
  nlohmann::json contract = contract_of_functions();
  if (!declared.is_object()) return declared.is_null() ? contract : declared;
  for (const auto& [key, value] : declared.items()) {
    if (key == "arithmetic" && value.is_object())
      contract[key].update(value);
    else
      contract[key] = value;
  }
  return contract;
}

}  // namespace

Result<CallOptions> parse_call_options(std::string_view text) {
  auto json = parse_strict_json(text);
  if (!json) return Problem{"options: " + json.problem()};
  if (!json->is_object()) return Problem{"options: expected an object"};
  CallOptions options;
  for (const auto& [key, value] : json->items()) {
    if (key == "contract") {
      options.contract = value;
    } else if (key == "elements" && (value == "all" || value == "sample")) {
      options.sample.indices = value == "all" ? 0 : kSampleWhereNeeded;
    } else if (key == "elements") {
      return Problem{"options.elements: expected \"sample\" or \"all\""};
    } else if (key == "kernel" && value.is_string()) {
      options.kernel = value.get<std::string>();
    } else if (key == "explain" && value.is_boolean()) {
      options.explain = value.get<bool>();
    } else if (key == "explain") {
      return Problem{"options.explain: expected true or false"};
    } else if (key == "threads" && value.is_number_integer() && value >= 0 && value <= kMostThreads) {
      options.threads = value.get<unsigned>();
    } else if (key == "kernel" || key == "threads") {
      return Problem{"options." + key +
                     (key == "kernel" ? ": expected a text" : ": expected a number between 0 and 1024")};
    } else {
      return Problem{"options: unknown key \"" + shortened(key) +
                     "\"; expected contract, elements, explain, kernel or threads"};
    }
  }
  return options;
}

Json judge_call(const Case& test_case, const fusesmith_call& call, const CallOptions& options) {
  const Graph& graph = test_case.graph;
  auto plan = parse_plan(graph, {{"regions", "whole_graph"}, {"contract", contract_with(options.contract)}});
  if (!plan) return {{"error", plan.problem()}};
  if (plan->regions.empty() || plan->regions[0].outputs.empty())
    return {{"error", "graph: nothing that is computed is an output"}};
  auto trace = trace_of(graph, call);
  if (!trace) return {{"error", trace.problem()}};
  Execution execution{options.kernel, &*plan, &*trace};
  execution.coarsest = kCoarsest;
  execution.foreign = execution.is_kernel = true;
  JudgeOptions judging;
  judging.sample = options.sample;
  judging.minimal_deviations = options.explain;
  return described(judge_backend(graph, execution, judging));
}

}  // namespace fusesmith::fuzz

#include "fuzz/run/known_names.h"

#include <algorithm>
#include <string_view>
#include <vector>

#include "backends/remote/worker_names.h"
#include "backends/rewrite/pattern.h"
#include "fuzz/run/backends.h"
#include "fuzz/run/metamorphic.h"
#include "graph/expand.h"
#include "graph/json_place.h"
#include "graph/json_strict.h"
#include "graph/replacement.h"
#include "oracle/judge.h"

namespace fusesmith::fuzz {

namespace {

using Names = std::vector<std::string_view>;

constexpr std::string_view kDeviations[] = {"drop ", "may drop ", "move ", "add "};

std::string element(const char* list, size_t i) {
  return std::string(list) + "[" + std::to_string(i) + "]: ";
}

std::optional<Problem> check_known(const std::string& place, const char* what, std::string_view name,
                                   const Names& known) {
  if (std::find(known.begin(), known.end(), name) != known.end()) return {};
  return Problem{place + unknown_text(what, name, known)};
}

Names known_backends() {
  Names names(std::begin(kBackendsOfAllBuilds), std::end(kBackendsOfAllBuilds));
  // Tests list others.
  for (const Backend* backend : all_backends()) {
    if (std::find(names.begin(), names.end(), backend->name()) == names.end())
      names.push_back(backend->name());
  }
  return names;
}

std::optional<Problem> unknown_backend(const Expect& expect) {
  for (size_t i = 0; i < expect.backends.size(); ++i) {
    const std::string& name = expect.backends[i];
    if (worker_kind(name)) {
      if (const auto problem = worker_name_problem(name))
        return Problem{element("expect.backends", i) + problem->what};
      continue;
    }
    if (auto problem = check_known(element("expect.backends", i), "backend", name, known_backends()))
      return problem;
  }
  return {};
}

std::optional<Problem> unknown_policy_name(const Policy& policy) {
  Names patterns;
  for (const Pattern& pattern : all_patterns()) patterns.push_back(pattern.name);
  for (size_t i = 0; i < policy.skip_patterns.size(); ++i) {
    if (auto problem =
            check_known(element("policy.skip_patterns", i), "pattern", policy.skip_patterns[i], patterns))
      return problem;
  }
  Names checks(kMetamorphicChecks.begin(), kMetamorphicChecks.end());
  checks.insert(checks.end(), kInvariances.begin(), kInvariances.end());
  for (size_t i = 0; i < policy.metamorphic.size(); ++i) {
    if (auto problem = check_known(element("policy.metamorphic", i), "check", policy.metamorphic[i], checks))
      return problem;
  }
  const auto isolation = std::find(policy.metamorphic.begin(), policy.metamorphic.end(), "isolation");
  if (!policy.replaced.empty() && isolation == policy.metamorphic.end())
    return Problem{"policy.replaced: needs \"isolation\" in policy.metamorphic, which replaces it"};
  return {};
}

// The values that deviations may name: nodes, and "node/inner" for the inner values of composite ops.
std::vector<std::string> region_values(const Graph& graph) {
  std::vector<std::string> names;
  for (const Node& node : graph.nodes()) {
    names.push_back(node.name);
    std::vector<TensorType> types;
    for (const ValueId input : node.inputs) types.push_back(graph.type(input));
    const auto inner = expansion(node.op, types);
    if (!inner) continue;
    for (const Node& step : inner->nodes()) names.push_back(node.name + "/" + step.name);
  }
  return names;
}

std::optional<Problem> unknown_deviation(const Expect& expect, const Graph& graph) {
  if (expect.deviations.empty()) return {};
  const std::string_view policy = name(VerdictClass::precision_policy);
  if (expect.verdict != policy) {
    return Problem{"expect.deviations: expected none with verdict \"" + expect.verdict + "\", only \"" +
                   std::string(policy) + "\" has any"};
  }
  const std::vector<std::string> values = region_values(graph);
  const Names known(values.begin(), values.end());
  for (size_t i = 0; i < expect.deviations.size(); ++i) {
    const std::string place = element("expect.deviations", i);
    std::string_view text = expect.deviations[i];
    const auto* kind = std::find_if(std::begin(kDeviations), std::end(kDeviations),
                                    [&](std::string_view word) { return text.starts_with(word); });
    if (kind == std::end(kDeviations)) {
      return Problem{place + "expected \"drop NODE\", \"move NODE\" or \"add NODE" + kExponentials +
                     "\", got \"" + shortened(text) + "\""};
    }
    text.remove_prefix(kind->size());
    // An added rounding is not of a node's value but of the exponentials of a softmax.
    if (*kind == "add ") {
      if (!text.ends_with(kExponentials))
        return Problem{place + "expected \"add NODE" + kExponentials + "\", got \"add " + shortened(text) +
                       "\""};
      text.remove_suffix(std::string_view(kExponentials).size());
    }
    if (auto problem = check_known(place, "node", text, known)) return problem;
  }
  return {};
}

}  // namespace

std::optional<Problem> unknown_name(const Case& test_case) {
  if (auto problem = unknown_policy_name(test_case.policy)) return problem;
  if (const std::string& replaced = test_case.policy.replaced; !replaced.empty()) {
    const auto read = graph::parse_replacement(replaced, test_case.graph);
    if (!read) return Problem{"policy.replaced: " + read.problem() + ", got \"" + shortened(replaced) + "\""};
  }
  if (!test_case.expect) return {};
  const Expect& expect = *test_case.expect;
  if (auto problem = unknown_backend(expect)) return problem;
  const Names verdicts(kVerdictNames.begin(), kVerdictNames.end());
  if (auto problem = check_known("expect.verdict: ", "verdict", expect.verdict, verdicts)) return problem;
  return unknown_deviation(expect, test_case.graph);
}

Result<Case> read_known_case(const std::string& path) {
  auto test_case = read_case_file(path);
  if (!test_case) return test_case;
  if (const auto problem = unknown_name(*test_case)) return Problem{path + ": " + problem->what};
  return test_case;
}

}  // namespace fusesmith::fuzz

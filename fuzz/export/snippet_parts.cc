#include "fuzz/export/snippet_parts.h"

#include <cmath>

#include "fuzz/report/verdict_text.h"
#include "fuzz/run/isolation.h"
#include "graph/element_index.h"

namespace fusesmith::fuzz {

namespace {

bool has_special(const SnippetSources& sources) {
  for (const Tensor& tensor : sources.tensors) {
    for (int64_t i = 0; i < tensor.size(); ++i) {
      if (!std::isfinite(tensor.value(i))) return true;
    }
  }
  return false;
}

}  // namespace

std::optional<SnippetSources> snippet_sources(const Case& test_case, const Identifiers& names) {
  int64_t elements = 0;
  for (const Input& input : test_case.graph.inputs()) elements += element_count(input.type);
  for (const State& state : test_case.graph.states()) elements += element_count(state.type);
  if (test_case.steps > 1 || elements > kMostSnippetElements) return {};
  SnippetSources sources{{}, make_inputs(test_case)};
  for (const State& state : test_case.graph.states())
    sources.tensors.push_back(materialize(state.fill, state.type, test_case.seed, state.name, 0));
  for (size_t i = 0; i < sources.tensors.size(); ++i)
    sources.names.push_back(names.of(static_cast<ValueId>(i)));
  return sources;
}

std::optional<ReplacedSources> replaced_sources(const Case& test_case, const SnippetSources& sources) {
  Inputs inputs;
  for (const Tensor& tensor : sources.tensors) inputs.push_back(std::make_shared<const Tensor>(tensor));
  const auto replaced = replaced_by_policy(test_case, inputs);
  if (!replaced) return std::nullopt;
  ReplacedSources result{{}, replaced->change};
  for (size_t i = 0; i < inputs.size(); ++i) {
    if (replaced->inputs[i] == inputs[i]) continue;
    result.sources.names.push_back(sources.names[i]);
    result.sources.tensors.push_back(*replaced->inputs[i]);
  }
  return result;
}

std::string elements_list(const Tensor& tensor) {
  std::vector<std::string> words;
  for (int64_t i = 0; i < tensor.size(); ++i) {
    const double value = tensor.value(i);
    words.push_back(value == 0 && std::signbit(value)              ? "-0.0"
                    : tensor.type.dtype == Dtype::boolean && value ? "True"
                    : tensor.type.dtype == Dtype::boolean          ? "False"
                                                                   : stored_text(tensor.type.dtype, value));
  }
  return "[" + comma_separated(words) + "]";
}

std::string snippet_imports(const SnippetSources& sources, const SnippetFacts& facts) {
  const bool special =
      facts.element && !(std::isfinite(facts.element->low) && std::isfinite(facts.element->high));
  return special || has_special(sources) ? "from math import inf, nan\n\n" : "";
}

std::string lawful_text(const ShownElement& element) {
  if (std::isnan(element.low)) return "only nan is correct";
  if (element.low == element.high) return "only " + number_text(element.low) + " is correct";
  return "correct is " + number_text(element.low) + " to " + number_text(element.high);
}

std::string place_of(const Graph& graph, const ShownElement& element) {
  const Shape index = unravelled(element.element, graph.type(element.value).shape);
  return index.empty() ? "" : to_string(index);
}

}  // namespace fusesmith::fuzz

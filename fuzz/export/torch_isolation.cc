#include "fuzz/export/torch_isolation.h"

#include "fuzz/run/isolation.h"

namespace fusesmith::fuzz {
namespace {

constexpr std::string_view kShowFunction = R"(def show_kept(name, before, after):
    """Which elements have other bits that are not computed from the replaced ones."""
    for label, one, other, keeps in zip(LABELS, before, after, KEEPS):
        changed = keeps & (one != other) & ~(one.isnan() & other.isnan())
        print(f"{name}: {label}: {changed.sum()} of {keeps.sum()} elements change that have to stay")
        for at in changed.nonzero()[:3].tolist():
            print(f"    {label}{at}: {one[tuple(at)].item()!r}, and {other[tuple(at)].item()!r} with REPLACED")


)";

constexpr std::string_view kShowMain = R"(    show_kept("eager", *both(graph))
    for name, options in [] if arguments.eager_only else VARIANTS.items():
        try:
            show_kept(name, *compiled(**options, then=both))
        except Exception as error:
            print(f"{name}: {type(error).__name__}")
)";

Tensor kept(const TensorType& type, const std::vector<uint8_t>& reached) {
  Tensor keeps({Dtype::boolean, type.shape});
  for (int64_t i = 0; i < keeps.size(); ++i) keeps.set(i, reached[static_cast<size_t>(i)] ? 0 : 1);
  return keeps;
}

std::string show_text(const std::string& change) {
  std::string text(kShowFunction);
  const std::string_view word = "REPLACED";
  return text.replace(text.find(word), word.size(), change);
}

}  // namespace

std::optional<IsolationScript> isolation_script(const Case& test_case, const ScriptSources& sources,
                                                std::span<const ValueId> returned, Identifiers& names) {
  const Graph& graph = test_case.graph;
  if (sources.loops) return std::nullopt;
  Inputs inputs;
  for (const ScriptVariable& source : sources.sources)
    inputs.push_back(std::make_shared<const Tensor>(source.tensors[0]));
  const auto replaced = replaced_by_policy(test_case, inputs);
  if (!replaced) return std::nullopt;
  const Reach reach = reach_of(graph, inputs, replaced->inputs);
  IsolationScript script;
  std::vector<std::string> before, after, keeps;
  for (size_t i = 0; i < inputs.size(); ++i) {
    before.push_back(sources.sources[i].name);
    after.push_back(before.back());
    if (replaced->inputs[i] == inputs[i]) continue;
    after.back() = names.fresh(before.back() + "_replaced");
    script.replaced.emplace_back(static_cast<ValueId>(i),
                                 ScriptVariable{after.back(), {*replaced->inputs[i]}});
  }
  for (const ValueId value : returned) {
    keeps.push_back(names.fresh("keeps_" + names.of(value)));
    script.keeps.push_back({keeps.back(), {kept(graph.type(value), reach[static_cast<size_t>(value)])}});
  }
  script.functions = "def both(function):\n    \"\"\"The results, and those with " + replaced->change +
                     ".\"\"\"\n    return function(" + comma_separated(before) + "), function(" +
                     comma_separated(after) + ")\n\n\n" + show_text(replaced->change);
  script.lists = "KEEPS = [" + comma_separated(keeps) + "]\n";
  script.main = kShowMain;
  return script;
}

}  // namespace fusesmith::fuzz

// Writing a case: stable bytes, and one line per input, state and node, so that files read well and diff
// well.
#include <cmath>

#include "graph/case.h"
#include "graph/json_fields.h"

namespace fusesmith::graph {
namespace {

std::string braces(const std::string& members) { return "{" + members + "}"; }

std::string fill_json(const Fill& fill) {
  const std::string fields = std::visit([](const auto& f) { return fields_json(f); }, fill);
  return braces(json_quoted(name(fill)) + ": " + braces(fields));
}

// The fields that differ from their defaults.
std::string layout_json(const MemoryLayout& layout) {
  std::string text;
  for_each_field<MemoryLayout>([&](const auto& field) {
    const auto& value = layout.*field.member;
    if (value == MemoryLayout{}.*field.member) return;
    text += (text.empty() ? "\"" : ", \"") + std::string(field.name) +
            "\": " + attribute_json(value, field.domain);
  });
  return braces(text);
}

template <class Source>
std::string source_json(const Source& source) {
  std::string text = "\"name\": " + json_quoted(source.name) +
                     ", \"type\": " + json_quoted(to_string(source.type)) +
                     ", \"fill\": " + fill_json(source.fill);
  if constexpr (std::same_as<Source, Input>) {
    if (!source.repeat.empty()) text += ", \"repeat\": " + to_string(source.repeat);
  }
  if (source.layout) text += ", \"layout\": " + layout_json(*source.layout);
  return text;
}

std::string names_json(const Graph& graph, const std::vector<ValueId>& values) {
  std::string text;
  for (ValueId value : values) text += (text.empty() ? "" : ", ") + json_quoted(graph.name(value));
  return "[" + text + "]";
}

std::string node_json(const Graph& graph, const Node& node) {
  const std::string fields = std::visit([](const auto& op) { return fields_json(op); }, node.op);
  return "\"name\": " + json_quoted(node.name) + ", \"op\": " + json_quoted(name(node.op)) +
         ", \"inputs\": " + names_json(graph, node.inputs) + (fields.empty() ? "" : ", ") + fields;
}

// A list with one object per line, its end indented by `margin`; an empty one stays on its line.
template <class T, class F>
std::string lines(const std::vector<T>& items, F members, const std::string& margin = "    ") {
  if (items.empty()) return "[]";
  std::string text = "[";
  for (const T& item : items) text += (text.size() > 1 ? ",\n  " : "\n  ") + margin + braces(members(item));
  return text + "\n" + margin + "]";
}

}  // namespace

std::string to_json(const Case& test_case) {
  const Graph& graph = test_case.graph;
  std::string text = "{\n";
  if (!test_case.schema.empty()) text += "  \"$schema\": " + json_quoted(test_case.schema) + ",\n";
  text += "  \"fusesmith\": " + std::to_string(kCaseVersion) + ",\n";
  if (!test_case.comment.empty()) text += "  \"comment\": " + json_quoted(test_case.comment) + ",\n";
  text += "  \"seed\": " + std::to_string(test_case.seed) + ",\n";
  text += "  \"steps\": " + std::to_string(test_case.steps) + ",\n";
  text += "  \"policy\": " + braces(fields_json(test_case.policy)) + ",\n";
  text += "  \"graph\": {\n";
  text += "    \"inputs\": " + lines(graph.inputs(), [](const Input& x) { return source_json(x); }) + ",\n";
  text += "    \"states\": " +
          lines(graph.states(),
                [&](const State& x) {
                  return source_json(x) + ", \"next\": " + json_quoted(graph.name(x.next));
                }) +
          ",\n";
  text +=
      "    \"nodes\": " + lines(graph.nodes(), [&](const Node& x) { return node_json(graph, x); }) + ",\n";
  text += "    \"outputs\": " + names_json(graph, graph.outputs()) + "\n";
  text += "  }";
  if (!test_case.stand_ins.empty()) {
    const auto members = [](const StandIn& x) { return fields_json(x); };
    text += ",\n  \"stand_ins\": " + lines(test_case.stand_ins, members, "  ");
  }
  if (test_case.expect) text += ",\n  \"expect\": " + braces(fields_json(*test_case.expect));
  return text + "\n}\n";
}

}  // namespace fusesmith::graph

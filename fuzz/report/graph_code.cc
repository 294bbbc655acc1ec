#include "fuzz/report/graph_code.h"

#include <algorithm>
#include <set>

#include "graph/attributes.h"

namespace fusesmith::fuzz {

namespace {

// A name of a case file may contain '-', '.' and '/', and may begin with a digit.
std::string identifier(const std::string& name) {
  std::string text = name;
  for (char& c : text) {
    if (c == '-' || c == '.' || c == '/') c = '_';
  }
  return text.empty() || (text[0] >= '0' && text[0] <= '9') ? "v" + text : text;
}

// Every value by a name of its own.
std::vector<std::string> identifiers(const Graph& graph) {
  std::vector<std::string> names;
  std::set<std::string> taken;
  for (ValueId value = 0; value < graph.value_count(); ++value) {
    std::string text = identifier(graph.name(value));
    while (!taken.insert(text).second) text += "_";
    names.push_back(std::move(text));
  }
  return names;
}

template <class T>
void add_fields(const T& object, std::vector<std::string>& arguments) {
  const T defaults{};
  for_each_field<T>([&](const auto& field) {
    using Value = std::decay_t<decltype(object.*field.member)>;
    if constexpr (!std::same_as<Value, std::vector<std::string>>) {
      if (!field.required && object.*field.member == defaults.*field.member) return;
      std::string text = attribute_text(object.*field.member, field.domain);
      if constexpr (std::same_as<Value, std::string> || std::is_enum_v<Value>) text = "\"" + text + "\"";
      if constexpr (std::same_as<Value, bool>) text = object.*field.member ? "True" : "False";
      arguments.push_back(std::string(field.name) + "=" + text);
    }
  });
}

std::string call(std::string_view function, const std::vector<std::string>& arguments) {
  std::string text;
  for (const std::string& argument : arguments) text += (text.empty() ? "" : ", ") + argument;
  return std::string(function) + "(" + text + ")";
}

std::string fill_call(const Fill& fill) {
  constexpr size_t kMost = 60;
  std::vector<std::string> arguments;
  std::visit([&](const auto& recipe) { add_fields(recipe, arguments); }, fill);
  std::string text = call(name(fill), arguments);
  return text.size() <= kMost ? text : call(name(fill), {"..."});
}

}  // namespace

std::string graph_code(const Graph& graph, const std::vector<int>& marked, size_t lines) {
  const std::vector<std::string> names = identifiers(graph);
  const auto of = [&](ValueId value) { return names[static_cast<size_t>(value)]; };
  std::vector<std::string> all;
  const auto add = [&](ValueId value, const std::string& what, const std::string& note) {
    all.push_back(of(value) + " = " + what + "  # " + to_string(graph.type(value)) + note);
  };
  ValueId source = 0;
  for (const Input& input : graph.inputs()) add(source++, fill_call(input.fill), "");
  for (const State& state : graph.states())
    add(source++, fill_call(state.fill), ", a state that becomes " + of(state.next) + " in the next step");
  for (size_t i = 0; i < graph.nodes().size(); ++i) {
    const Node& node = graph.nodes()[i];
    std::vector<std::string> arguments;
    for (ValueId value : node.inputs) arguments.push_back(of(value));
    std::visit([&](const auto& op) { add_fields(op, arguments); }, node.op);
    const bool fails = std::find(marked.begin(), marked.end(), static_cast<int>(i)) != marked.end();
    std::string outputs;
    for (int k = 1; k < node.output_count; ++k) outputs += ", " + of(node.first_output + k);
    all.push_back(of(node.first_output) + outputs + " = " + call(name(node.op), arguments) + "  # " +
                  to_string(graph.type(node.first_output)) + (fails ? "  <- failing region" : ""));
  }
  std::vector<std::string> outputs;
  for (ValueId value : graph.outputs()) outputs.push_back(of(value));
  std::string text;
  const size_t shown = all.size() <= lines ? all.size() : lines;
  for (size_t i = 0; i < shown; ++i) text += all[i] + "\n";
  if (shown < all.size()) text += "# ... " + std::to_string(all.size() - shown) + " more lines\n";
  for (const std::string& name : outputs) text += (&name == &outputs[0] ? "return " : ", ") + name;
  return text + "\n";
}

}  // namespace fusesmith::fuzz

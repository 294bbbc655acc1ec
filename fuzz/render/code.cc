#include "fuzz/render/code.h"

#include <algorithm>
#include <charconv>
#include <cmath>

#include "fuzz/base/escape.h"
#include "graph/attributes.h"

namespace fusesmith::fuzz {
namespace {

constexpr int64_t kLiteralElements = 4;  // shown in decimal; of more elements,
constexpr size_t kLiteralDigits = 32;    // so many hexadecimal digits
constexpr size_t kMaxColumn = 56;        // of aligned comments

constexpr std::string_view kKeywords[] = {
    "False", "None",     "True",  "and",    "as",   "assert", "async",  "await",    "break",
    "class", "continue", "def",   "del",    "elif", "else",   "except", "finally",  "for",
    "from",  "global",   "if",    "import", "in",   "is",     "lambda", "nonlocal", "not",
    "or",    "pass",     "raise", "return", "try",  "while",  "with",   "yield"};

bool is_word(char c) {
  return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '_';
}

std::string identifier(const std::string& name) {
  std::string word;
  for (char c : name) word += is_word(c) ? c : '_';
  // Python gives names that begin with two underscores a meaning, such as __builtins__ and __name__.
  if (word.empty() || (word[0] >= '0' && word[0] <= '9') || word.starts_with("__")) word = "v" + word;
  return word;
}

template <class T, class Domain>
std::string python_value(const T& value, const Domain& domain) {
  if constexpr (std::same_as<T, bool>) {
    return value ? "True" : "False";
  } else if constexpr (std::same_as<T, Shape>) {
    std::string text;
    for (int64_t dim : value) text += (text.empty() ? "" : ", ") + std::to_string(dim);
    return "(" + text + (value.size() == 1 ? ",)" : ")");
  } else if constexpr (std::same_as<T, int64_t> || std::same_as<T, double>) {
    return attribute_text(value, domain);
  } else {
    return python_quoted(attribute_text(value, domain));
  }
}

// "name=value, ..." of every field that `wanted` accepts.
template <class S, class Wanted>
std::string fields_text(const S& object, Wanted wanted) {
  std::string text;
  for_each_field<S>([&](const auto& field) {
    if (!wanted(field)) return;
    text += (text.empty() ? "" : ", ") + std::string(field.name) + "=" +
            python_value(object.*field.member, field.domain);
  });
  return text;
}

// ", repeated along [0], strides [0,1]"; empty for data that is stored as usual.
template <class Source>
std::string memory_text(const Source& source) {
  std::string text;
  if constexpr (std::same_as<Source, Input>)
    if (!source.repeat.empty()) text += ", repeated along " + graph::to_string(source.repeat);
  if (source.layout) text += ", " + to_string(*source.layout, source.type);
  return text;
}

}  // namespace

Identifiers::Identifiers(const Graph& graph, std::span<const std::string_view> taken)
    : used_(std::begin(kKeywords), std::end(kKeywords)) {
  used_.insert(taken.begin(), taken.end());
  for (ValueId value = 0; value < graph.value_count(); ++value) names_.push_back(fresh(graph.name(value)));
}

std::string Identifiers::fresh(const std::string& name) {
  const std::string base = identifier(name);
  std::string word = used_.contains(base) ? base + "_" : base;
  for (int i = 2; used_.contains(word); ++i) word = base + "_" + std::to_string(i);
  used_.insert(word);
  return word;
}

std::vector<std::string> Identifiers::of(std::span<const ValueId> values) const {
  std::vector<std::string> names;
  for (ValueId value : values) names.push_back(of(value));
  return names;
}

std::string python_quoted(std::string_view text) {
  constexpr std::string_view kDigits = "0123456789abcdef";
  std::string quoted = "\"";
  for (char c : text) {
    const auto byte = static_cast<unsigned char>(c);
    if (c == '"' || c == '\\') {
      quoted += {'\\', c};
    } else if (byte < 0x20 || byte >= 0x7f) {
      quoted += {'\\', 'x', kDigits[byte >> 4], kDigits[byte & 15]};
    } else {
      quoted += c;
    }
  }
  return quoted + "\"";
}

std::string comment_text(std::string_view text) {
  std::string line;
  while (!text.empty()) {
    uint32_t point = 0;
    const size_t length = decode_utf8(text, point);
    line += length > 0 && is_shown(point) ? text.substr(0, length) : " ";
    text.remove_prefix(std::max<size_t>(length, 1));
  }
  return line;
}

std::string stored_text(Dtype dtype, double element) {
  if (!is_float(dtype) || !std::isfinite(element)) return number_text(element);
  char buffer[32];
  const auto [end, error] = std::to_chars(buffer, buffer + sizeof buffer, static_cast<float>(element));
  check(error == std::errc(), "stored_text: buffer too small");
  return {buffer, end};
}

std::string attributes_text(const Op& op, Attributes which) {
  return std::visit(
      [&]<class T>(const T& x) {
        return fields_text(x, [&](const auto& field) {
          if constexpr (std::same_as<std::decay_t<decltype(field.domain)>, Axis>) return true;
          if (std::string_view(field.name) == "eps") return true;
          return which == Attributes::all || field.required || !(x.*field.member == T{}.*field.member);
        });
      },
      op);
}

std::string call_text(const Op& op, const std::vector<std::string>& operands, Attributes which) {
  const std::string attributes = attributes_text(op, which);
  return std::string(name(op)) + "(" + comma_separated(operands) +
         (operands.empty() || attributes.empty() ? "" : ", ") + attributes + ")";
}

std::string fill_text(const Fill& fill, const TensorType& type) {
  if (const auto* literal = std::get_if<Literal>(&fill)) {
    if (element_count(type) <= kLiteralElements) {
      const Tensor tensor = materialize(fill, type, 0, "", 0);
      std::vector<std::string> words;
      for (int64_t i = 0; i < tensor.size(); ++i) words.push_back(stored_text(type.dtype, tensor.value(i)));
      return "literal(" + comma_separated(words) + ")";
    }
    const bool cut = literal->bits.size() > kLiteralDigits;
    return "literal(\"" + literal->bits.substr(0, kLiteralDigits) + (cut ? "...\")" : "\")");
  }
  return std::visit(
      [&](const auto& f) {
        return std::string(name(fill)) + "(" + fields_text(f, [](const auto&) { return true; }) + ")";
      },
      fill);
}

std::string results_text(const Node& node, const Identifiers& names) {
  std::string text;
  for (int i = 0; i < node.output_count; ++i) text += (i == 0 ? "" : ", ") + names.of(node.first_output + i);
  return text;
}

std::vector<std::string> expansion_names(const Node& node, const Graph& expansion,
                                         const std::vector<std::string>& operands, Identifiers& names) {
  std::vector<std::string> words = operands;
  const std::vector<ValueId>& outputs = expansion.outputs();
  for (ValueId value = expansion.source_count(); value < expansion.value_count(); ++value) {
    const auto at = std::find(outputs.begin(), outputs.end(), value);
    words.push_back(at != outputs.end()
                        ? names.of(node.first_output + static_cast<int>(at - outputs.begin()))
                        : names.fresh(names.of(node.first_output) + "_" + expansion.name(value)));
  }
  return words;
}

std::string types_text(const Graph& graph, const Node& node) {
  std::string text;
  for (int i = 0; i < node.output_count; ++i)
    text += (i == 0 ? "" : ", ") + to_string(graph.type(node.first_output + i));
  return text;
}

std::string comma_separated(const std::vector<std::string>& words) {
  std::string text;
  for (const std::string& word : words) text += (text.empty() ? "" : ", ") + word;
  return text;
}

std::vector<CodeLine> code_lines(const Graph& graph, Attributes which) {
  const Identifiers names(graph);
  std::vector<CodeLine> lines;
  ValueId value = 0;
  for (const Input& input : graph.inputs())
    lines.push_back({names.of(value++) + " = " + fill_text(input.fill, input.type),
                     to_string(input.type) + memory_text(input)});
  for (const State& state : graph.states()) {
    lines.push_back(
        {names.of(value++) + " = state(" + fill_text(state.fill, state.type) + ")",
         to_string(state.type) + memory_text(state) + ", in the next step " + names.of(state.next)});
  }
  for (const Node& node : graph.nodes()) {
    lines.push_back({results_text(node, names) + " = " + call_text(node.op, names.of(node.inputs), which),
                     types_text(graph, node)});
  }
  lines.push_back({"return " + comma_separated(names.of(graph.outputs())), ""});
  return lines;
}

std::string code_text(std::span<const CodeLine> lines) {
  size_t column = 0;
  for (const CodeLine& line : lines) {
    if (!line.comment.empty() && line.code.size() <= kMaxColumn) column = std::max(column, line.code.size());
  }
  std::string text;
  for (const CodeLine& line : lines) {
    text += line.code;
    if (!line.comment.empty()) {
      text +=
          std::string(column > line.code.size() ? column - line.code.size() : 0, ' ') + "  # " + line.comment;
    }
    text += "\n";
  }
  return text;
}

}  // namespace fusesmith::fuzz

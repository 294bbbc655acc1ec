// A graph as code: one call for each node, with named attributes, in the syntax of Python. What `show`
// prints, what pictures write into their boxes, and what the exported scripts are made of. render/ has this
// and the pictures (svg.h, dot.h, layout.h).
#pragma once

#include <set>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "graph/graph.h"

namespace fusesmith::fuzz {

// Which attributes a call names: all, or the axes, eps and those that differ from their default.
enum class Attributes : uint8_t { all, telling };

// The names of values as identifiers of Python: ASCII, unique, no keyword, no name that Python gives a
// meaning
// (__builtins__), and none of the `taken` names. An identifier that differs from its name is made of it.
class Identifiers {
 public:
  explicit Identifiers(const Graph& graph, std::span<const std::string_view> taken = {});
  const std::string& of(ValueId value) const { return names_[static_cast<size_t>(value)]; }
  std::vector<std::string> of(std::span<const ValueId> values) const;
  // One more identifier, made of this name; no later one is equal to it.
  std::string fresh(const std::string& name);

 private:
  std::vector<std::string> names_;
  std::set<std::string, std::less<>> used_;
};

// A string literal of Python, ASCII only, in double quotes.
std::string python_quoted(std::string_view text);
// Text for one comment line, in UTF-8: characters that are not shown (is_shown in escape.h), and bytes that
// are none, become spaces.
std::string comment_text(std::string_view text);

// An element in the fewest digits that are read back as the same number of its dtype.
std::string stored_text(Dtype dtype, double element);

// "axis=-1, keepdims=True"; infinities are `inf` and `-inf`.
std::string attributes_text(const Op& op, Attributes which);
// "softmax(x, axis=-1)".
std::string call_text(const Op& op, const std::vector<std::string>& operands, Attributes which);
// "normal(mean=0, stddev=1)"; of a literal, the elements in decimal if they are few, else its first digits.
std::string fill_text(const Fill& fill, const TensorType& type);

// "y", or "y_0, y_1".
std::string results_text(const Node& node, const Identifiers& names);
// Names for the values of a composite node's expansion, by ValueId: those of its operands and results, and
// new ones for its inner values.
std::vector<std::string> expansion_names(const Node& node, const Graph& expansion,
                                         const std::vector<std::string>& operands, Identifiers& names);
// "f32[4,16]", of all outputs of the node.
std::string types_text(const Graph& graph, const Node& node);

// "a, b".
std::string comma_separated(const std::vector<std::string>& words);

struct CodeLine {
  std::string code;     // "p = softmax(x, axis=-1)"
  std::string comment;  // "f32[4,16]"; may be empty
};
// One line for each input, state and node, and one that returns the outputs.
std::vector<CodeLine> code_lines(const Graph& graph, Attributes which = Attributes::telling);
// Comments aligned where the lines are short.
std::string code_text(std::span<const CodeLine> lines);

}  // namespace fusesmith::fuzz

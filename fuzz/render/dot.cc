#include "fuzz/render/dot.h"

#include "fuzz/render/code.h"

namespace fusesmith::fuzz {
namespace {

// A quoted string of Graphviz, in which a backslash starts an escape like \n and \N.
std::string dot_quoted(std::string_view text) {
  std::string quoted = "\"";
  for (char c : text) {
    if (c == '"' || c == '\\') quoted += '\\';
    quoted += c;
  }
  return quoted + "\"";
}

// The lines of a label, each aligned to the left.
std::string label(const std::vector<std::string>& lines) {
  std::string text = "\"";
  for (const std::string& line : lines) {
    const std::string quoted = dot_quoted(line);
    text += (text.size() > 1 ? "\\n" : "") + quoted.substr(1, quoted.size() - 2);
  }
  return text + "\"";
}

class DotWriter {
 public:
  DotWriter(const Graph& graph, const FailureMark* mark) : graph_(graph), mark_(mark) {}

  std::string text(const std::string& title) {
    text_ = "digraph fusesmith {\n  label=" + dot_quoted(comment_text(title)) +
            ";\n  node [shape=box, fontname=\"monospace\"];\n  edge [fontname=\"monospace\"];\n";
    for (ValueId value = 0; value < graph_.source_count(); ++value) add_source(value);
    for (size_t i = 0; i < graph_.nodes().size(); ++i) add_node(static_cast<int>(i));
    for (size_t i = 0; i < graph_.nodes().size(); ++i) {
      for (ValueId value : graph_.nodes()[i].inputs) add_edge(value, "n" + std::to_string(i));
    }
    for (size_t i = 0; i < graph_.outputs().size(); ++i) {
      const std::string id = "out" + std::to_string(i);
      text_ += "  " + id + " [label=" + label({"output", graph_.name(graph_.outputs()[i])}) +
               ", shape=plaintext];\n";
      add_edge(graph_.outputs()[i], id);
    }
    return text_ + "}\n";
  }

 private:
  std::string source_of(ValueId value) const {
    const auto node = graph_.producer(value);
    return node ? "n" + std::to_string(*node) : "v" + std::to_string(value);
  }

  void add_source(ValueId value) {
    text_ += "  v" + std::to_string(value) + " [label=" +
             label({graph_.name(value),
                    std::string(graph_.is_state(value) ? "state " : "") + to_string(graph_.type(value))}) +
             ", shape=ellipse];\n";
  }

  void add_node(int index) {
    const Node& node = graph_.nodes()[static_cast<size_t>(index)];
    text_ += "  n" + std::to_string(index) + " [label=" +
             label({node.name, std::string(name(node.op)), attributes_text(node.op, Attributes::telling)});
    if (mark_ && mark_->region.contains(index)) text_ += ", style=filled, fillcolor=\"#ffd9d2\"";
    if (mark_ && mark_->worst >= 0 && graph_.producer(mark_->worst) == index)
      text_ += ", color=\"#b3261e\", penwidth=3";
    text_ += "];\n";
  }

  void add_edge(ValueId value, const std::string& to) {
    text_ +=
        "  " + source_of(value) + " -> " + to + " [label=" + label({to_string(graph_.type(value))}) + "];\n";
  }

  const Graph& graph_;
  const FailureMark* mark_;
  std::string text_;
};

}  // namespace

std::string dot_text(const Graph& graph, const std::string& title, const FailureMark* mark) {
  const std::string note = mark && !mark->note.empty() ? ": " + mark->note : "";
  return DotWriter(graph, mark).text(title + note);
}

}  // namespace fusesmith::fuzz

#include "fuzz/render/svg.h"

#include <algorithm>
#include <cstdio>
#include <map>

#include "fuzz/base/escape.h"
#include "fuzz/render/code.h"
#include "fuzz/render/layout.h"
#include "graph/json_strict.h"

namespace fusesmith::fuzz {
namespace {

constexpr double kCharWidth = 7.3;  // of 12 px monospace
constexpr double kLineHeight = 16;
constexpr double kPadding = 9;
constexpr double kLayerGap = 46;  // between layers, with room for types
constexpr double kMargin = 16;
constexpr double kTitleHeight = 44;
constexpr size_t kMaxLine = 34;  // characters

constexpr std::string_view kStyle = R"(<style>
.fusesmith-graph { --back: #ffffff; --text: #1c2024; --dim: #5b6570; --line: #8a94a0; --box: #eef3fb; --edge: #54616e;
  --source: #eef7ee; --bad: #ffe1dc; --bad-line: #c62f21; background: var(--back); }
@media (prefers-color-scheme: dark) {
  .fusesmith-graph { --back: #14181d; --text: #e8ecf1; --dim: #9aa6b2; --line: #5d6b7a; --box: #1f2a38; --edge: #8fa0b2;
    --source: #1d2f25; --bad: #4a1f1c; --bad-line: #ff7a6b; }
}
.fusesmith-graph text { font: 12px ui-monospace, "DejaVu Sans Mono", Menlo, Consolas, monospace; fill: var(--text); }
.fusesmith-graph .name { font-weight: bold; }
.fusesmith-graph .type { fill: var(--dim); font-size: 11px; }
.fusesmith-graph .type { stroke: var(--back); stroke-width: 4px; paint-order: stroke; }
.fusesmith-graph .dim { fill: var(--dim); }
.fusesmith-graph rect { fill: var(--box); stroke: var(--line); }
.fusesmith-graph .source { fill: var(--source); }
.fusesmith-graph .output { fill: none; stroke-dasharray: 4 3; }
.fusesmith-graph .failing { fill: var(--bad); stroke: var(--bad-line); }
.fusesmith-graph .worst { stroke-width: 3px; }
.fusesmith-graph path { fill: none; stroke: var(--edge); }
.fusesmith-graph .head { fill: var(--edge); stroke: none; }
</style>
)";

std::string number(double x) {
  char buffer[32];
  std::snprintf(buffer, sizeof buffer, "%.1f", x);
  return buffer;
}

std::string cut(std::string text) {
  if (text.size() > kMaxLine) text.replace(kMaxLine - 3, std::string::npos, "...");
  return text;
}

struct GraphBox {
  std::vector<std::string> lines;
  std::string css;
};

// The boxes of a graph: inputs and states, nodes, outputs and next states.
class SvgWriter {
 public:
  SvgWriter(const Graph& graph, const FailureMark* mark) : graph_(graph), mark_(mark) {
    for (ValueId value = 0; value < graph.source_count(); ++value) add_source(value);
    for (size_t i = 0; i < graph.nodes().size(); ++i) add_node(static_cast<int>(i));
    for (ValueId value : graph.outputs()) add_end(value, "output");
    for (const State& state : graph.states()) add_end(state.next, "next " + state.name);
    sink_sources();
    width_ = lay_out(laid_, edges_);
    place_layers();
  }

  std::string text(const std::string& title) {
    const std::string note = mark_ ? shortened(mark_->note, 1000) : "";
    const double width = std::max(width_ + 2 * kMargin, 420.0), height = bottom_ + kMargin;
    left_ = (width - width_) / 2;
    out_ = "<svg xmlns=\"http://www.w3.org/2000/svg\" class=\"fusesmith-graph\" role=\"img\" viewBox=\"0 0 " +
           number(width) + " " + number(height) + "\" width=\"" + number(width) + "\" height=\"" +
           number(height) + "\">\n<title>" + html_escaped(title) + "</title>\n" + std::string(kStyle);
    out_ +=
        "<rect x=\"0\" y=\"0\" width=\"100%\" height=\"100%\" style=\"fill: var(--back); stroke: none\"/>\n";
    const auto columns = static_cast<size_t>((width - 2 * kMargin) / kCharWidth);
    add_text(kMargin, 22, "name", title.size() > columns ? title.substr(title.size() - columns) : title);
    add_text(kMargin, 40, "dim", note.size() > columns ? note.substr(0, columns - 3) + "..." : note);
    for (size_t i = 0; i < edges_.size(); ++i) draw_edge(i);
    for (size_t i = 0; i < boxes_.size(); ++i) draw_box(i);
    for (size_t i = 0; i < edges_.size(); ++i) draw_type(i);
    return out_ + "</svg>\n";
  }

 private:
  int add(GraphBox box, int layer) {
    size_t longest = 0;
    for (std::string& line : box.lines) longest = std::max(longest, (line = cut(line)).size());
    laid_.push_back({static_cast<double>(longest) * kCharWidth + 2 * kPadding, layer});
    boxes_.push_back(std::move(box));
    return static_cast<int>(boxes_.size()) - 1;
  }

  void add_source(ValueId value) {
    const std::string kind = graph_.is_state(value) ? "state " : "";
    box_of_[value] = add({{graph_.name(value), kind + to_string(graph_.type(value))}, "source"}, 0);
  }

  void add_node(int index) {
    const Node& node = graph_.nodes()[static_cast<size_t>(index)];
    int layer = 0;
    for (ValueId value : node.inputs)
      layer = std::max(layer, laid_[static_cast<size_t>(box_of_[value])].layer + 1);
    std::string css;
    if (mark_ && mark_->region.contains(index)) css = "failing";
    if (mark_ && mark_->worst >= 0 && graph_.producer(mark_->worst) == index) css = "failing worst";
    const std::string attributes = attributes_text(node.op, Attributes::telling);
    std::vector<std::string> lines = {node.name, std::string(name(node.op))};
    if (!attributes.empty()) lines.push_back(attributes);
    const int box = add({std::move(lines), css}, layer);
    for (ValueId value : node.inputs) connect(value, box);
    for (int i = 0; i < node.output_count; ++i) box_of_[node.first_output + i] = box;
  }

  void add_end(ValueId value, const std::string& what) {
    const int layer = laid_[static_cast<size_t>(box_of_[value])].layer + 1;
    connect(value, add({{what, graph_.name(value)}, "output"}, layer));
  }

  void connect(ValueId value, int to) {
    const int from = box_of_[value];
    const bool known = std::any_of(edges_.begin(), edges_.end(),
                                   [&](const LaidEdge& e) { return e.from == from && e.to == to; });
    if (known) return;
    edges_.push_back({from, to});
    types_.push_back(to_string(graph_.type(value)));
  }

  // Inputs stand just above their first reader, so that few long edges cross the picture.
  void sink_sources() {
    for (ValueId value = 0; value < graph_.source_count(); ++value) {
      const int box = box_of_[value];
      int nearest = -1;
      for (const LaidEdge& edge : edges_) {
        const int layer = laid_[static_cast<size_t>(edge.to)].layer - 1;
        if (edge.from == box && (nearest < 0 || layer < nearest)) nearest = layer;
      }
      laid_[static_cast<size_t>(box)].layer = std::max(nearest, 0);
    }
  }

  double height_of(size_t box) const {
    return static_cast<double>(boxes_[box].lines.size()) * kLineHeight + 2 * kPadding - 4;
  }

  void place_layers() {
    for (size_t i = 0; i < boxes_.size(); ++i) {
      const auto layer = static_cast<size_t>(laid_[i].layer);
      if (heights_.size() <= layer) heights_.resize(layer + 1);
      heights_[layer] = std::max(heights_[layer], height_of(i));
    }
    bottom_ = kTitleHeight;
    for (double height : heights_) {
      tops_.push_back(bottom_ + (tops_.empty() ? kMargin : kLayerGap));
      bottom_ = tops_.back() + height;
    }
  }

  double x(double laid) const { return left_ + laid; }
  double top(size_t box) const { return tops_[static_cast<size_t>(laid_[box].layer)]; }

  void add_text(double x, double y, const std::string& css, const std::string& text, bool middle = false) {
    if (text.empty()) return;
    out_ += "<text x=\"" + number(x) + "\" y=\"" + number(y) + "\" class=\"" + css + "\"" +
            (middle ? " text-anchor=\"middle\"" : "") + ">" + html_escaped(text) + "</text>\n";
  }

  void draw_box(size_t i) {
    const double width = laid_[i].width, left = x(laid_[i].x) - width / 2;
    out_ += "<rect x=\"" + number(left) + "\" y=\"" + number(top(i)) + "\" width=\"" + number(width) +
            "\" height=\"" + number(height_of(i)) + "\" rx=\"" + (boxes_[i].css == "source" ? "14" : "4") +
            "\" class=\"" + boxes_[i].css + "\"/>\n";
    double y = top(i) + kPadding + 9;
    for (size_t line = 0; line < boxes_[i].lines.size(); ++line, y += kLineHeight)
      add_text(x(laid_[i].x), y, line == 0 ? "name" : line == 1 ? "op" : "dim", boxes_[i].lines[line], true);
  }

  // The points of an edge: below its first box, beside what it passes, above its last box.
  void draw_edge(size_t i) {
    const LaidEdge& edge = edges_[i];
    const auto from = static_cast<size_t>(edge.from), to = static_cast<size_t>(edge.to);
    double at_x = x(laid_[from].x), at_y = top(from) + height_of(from);
    std::string path = "M" + number(at_x) + " " + number(at_y);
    const auto curve = [&](double to_x, double to_y) {
      const double bend = (to_y - at_y) / 2;
      path += " C" + number(at_x) + " " + number(at_y + bend) + " " + number(to_x) + " " +
              number(to_y - bend) + " " + number(to_x) + " " + number(to_y);
      at_x = to_x;
      at_y = to_y;
    };
    auto layer = static_cast<size_t>(laid_[from].layer) + 1;
    for (double through : edge.through) {
      curve(x(through), tops_[layer]);
      at_y = tops_[layer] + heights_[layer];
      path += " L" + number(at_x) + " " + number(at_y);
      ++layer;
    }
    curve(x(laid_[to].x), top(to) - 6);
    out_ += "<path d=\"" + path + "\"/>\n<path class=\"head\" d=\"M" + number(at_x - 4) + " " +
            number(at_y - 1) + " l8 0 l-4 7 z\"/>\n";
  }

  // Beside the start of the edge; once for edges of one value. Sources have their type in the box.
  void draw_type(size_t i) {
    const auto from = static_cast<size_t>(edges_[i].from);
    if (boxes_[from].css == "source") return;
    const bool drawn = std::any_of(types_.begin(), types_.begin() + static_cast<std::ptrdiff_t>(i),
                                   [&](const std::string& type) {
                                     const auto at = static_cast<size_t>(&type - types_.data());
                                     return edges_[at].from == edges_[i].from && type == types_[i];
                                   });
    if (!drawn) add_text(x(laid_[from].x) + 6, top(from) + height_of(from) + 14, "type", types_[i]);
  }

  const Graph& graph_;
  const FailureMark* mark_;
  std::vector<GraphBox> boxes_;
  std::vector<LaidBox> laid_;
  std::vector<LaidEdge> edges_;
  std::vector<std::string> types_;  // by edge
  std::map<ValueId, int> box_of_;
  std::vector<double> heights_, tops_;  // by layer
  double width_ = 0, left_ = 0, bottom_ = 0;
  std::string out_;
};

}  // namespace

std::string svg_text(const Graph& graph, const std::string& title, const FailureMark* mark) {
  return SvgWriter(graph, mark).text(comment_text(title));
}

}  // namespace fusesmith::fuzz

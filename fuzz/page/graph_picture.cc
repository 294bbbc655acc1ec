#include "fuzz/page/graph_picture.h"

#include <algorithm>
#include <nlohmann/json.hpp>

#include "graph/op.h"

namespace fusesmith::fuzz {

namespace {

using Json = nlohmann::ordered_json;

constexpr int kLetter = 7, kPadding = 10, kHeight = 40, kGap = 14, kRowGap = 34, kMargin = 8;

// One box for each input, state and node.
struct Box {
  std::string label, type;
  bool fails = false, source = false;
  std::vector<size_t> reads;  // boxes, each once
  size_t row = 0;
  int x = 0, y = 0, width = 0;

  int center() const { return x + width / 2; }
};

Box box(std::string label, const TensorType& type) {
  Box made;
  made.label = std::move(label);
  made.type = to_string(type);
  made.width = static_cast<int>(std::max(made.label.size(), made.type.size())) * kLetter + 2 * kPadding;
  return made;
}

std::vector<Box> boxes_of(const Graph& graph, const std::set<int>& failing) {
  std::vector<Box> boxes;
  for (ValueId value = 0; value < graph.source_count(); ++value) {
    boxes.push_back(box(graph.name(value), graph.type(value)));
    boxes.back().source = true;
  }
  for (size_t i = 0; i < graph.nodes().size(); ++i) {
    const Node& node = graph.nodes()[i];
    Box made = box(node.name + " = " + std::string(name(node.op)), graph.type(node.first_output));
    made.fails = failing.contains(static_cast<int>(i));
    for (const ValueId value : node.inputs) {
      const auto producer = graph.producer(value);
      const auto from =
          producer ? static_cast<size_t>(graph.source_count() + *producer) : static_cast<size_t>(value);
      if (std::find(made.reads.begin(), made.reads.end(), from) == made.reads.end())
        made.reads.push_back(from);
      made.row = std::max(made.row, boxes[from].row + 1);
    }
    boxes.push_back(std::move(made));
  }
  // A source stands just above its first reader.
  for (size_t i = 0; i < boxes.size(); ++i) {
    if (!boxes[i].source) continue;
    size_t row = SIZE_MAX;
    for (const Box& reader : boxes) {
      if (std::find(reader.reads.begin(), reader.reads.end(), i) != reader.reads.end())
        row = std::min(row, reader.row - 1);
    }
    if (row != SIZE_MAX) boxes[i].row = row;
  }
  return boxes;
}

// From left to right by the mean place of what each box reads; returns the width of all.
int place(std::vector<Box>& boxes) {
  std::vector<std::vector<size_t>> rows;
  for (size_t i = 0; i < boxes.size(); ++i) {
    if (boxes[i].row >= rows.size()) rows.resize(boxes[i].row + 1);
    rows[boxes[i].row].push_back(i);
  }
  const auto width_of = [&](const std::vector<size_t>& row) {
    int width = row.empty() ? 0 : -kGap;
    for (const size_t i : row) width += boxes[i].width + kGap;
    return width;
  };
  int width = 0;
  for (const auto& row : rows) width = std::max(width, width_of(row));
  for (size_t r = 0; r < rows.size(); ++r) {
    const auto wish = [&](size_t i) {
      if (boxes[i].reads.empty()) return static_cast<double>(width) / 2;
      double sum = 0;
      for (const size_t from : boxes[i].reads) sum += boxes[from].center();
      return sum / static_cast<double>(boxes[i].reads.size());
    };
    std::stable_sort(rows[r].begin(), rows[r].end(), [&](size_t a, size_t b) { return wish(a) < wish(b); });
    int x = kMargin + (width - width_of(rows[r])) / 2;
    for (const size_t i : rows[r]) {
      boxes[i].x = x;
      boxes[i].y = kMargin + static_cast<int>(r) * (kHeight + kRowGap);
      x += boxes[i].width + kGap;
    }
  }
  return width;
}

}  // namespace

Json graph_picture(const Graph& graph, const std::set<int>& failing) {
  if (graph.nodes().size() + static_cast<size_t>(graph.source_count()) > kMostBoxes) return {};
  std::vector<Box> boxes = boxes_of(graph, failing);
  if (boxes.empty()) return {};
  const int width = place(boxes);
  Json picture = {{"width", width + 2 * kMargin}, {"boxes", Json::array()}, {"lines", Json::array()}};
  int height = 0;
  std::string text = "Graph with " + std::to_string(graph.nodes().size()) + " nodes. Failing region: ";
  bool any = false;
  for (const Box& one : boxes) {
    height = std::max(height, one.y + kHeight);
    picture["boxes"].push_back({{"x", one.x},
                                {"y", one.y},
                                {"width", one.width},
                                {"height", kHeight},
                                {"middle", one.center()},
                                {"label_y", one.y + 17},
                                {"type_y", one.y + 32},
                                {"label", one.label},
                                {"type", one.type},
                                {"kind", one.fails    ? "fails"
                                         : one.source ? "source"
                                                      : "node"}});
    if (one.fails) text += (any ? ", " : "") + one.label, any = true;
    for (const size_t from : one.reads) {
      const int top = boxes[from].y + kHeight;
      picture["lines"].push_back({{"x1", boxes[from].center()},
                                  {"y1", top},
                                  {"x2", one.center()},
                                  {"y2", one.y},
                                  {"bend", (top + one.y) / 2}});
    }
  }
  picture["height"] = height + kMargin;
  picture["text"] = text + (any ? "." : "none.");
  return picture;
}

}  // namespace fusesmith::fuzz

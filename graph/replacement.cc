#include "graph/replacement.h"

#include <algorithm>
#include <charconv>

#include "graph/axis_classes.h"

namespace fusesmith::graph {
namespace {

struct Places {
  bool all = false;
  int64_t first = 0, end = 0;
};

std::optional<int64_t> number(std::string_view text) {
  int64_t value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error != std::errc() || end != text.data() + text.size() || text.empty()) return std::nullopt;
  return value;
}

// ":", "3" or "3:5".
std::optional<Places> places_of(std::string_view text) {
  if (text == ":") return Places{true};
  const size_t colon = text.find(':');
  const auto first = number(text.substr(0, colon));
  if (!first) return std::nullopt;
  if (colon == std::string_view::npos) return Places{false, *first, *first + 1};
  const auto end = number(text.substr(colon + 1));
  return end ? std::optional(Places{false, *first, *end}) : std::nullopt;
}

// Of "[:,3:5,:]", without the brackets: the axis and its places. Nothing unless exactly one axis has some.
std::optional<std::pair<int, Places>> one_axis(std::string_view text, int rank) {
  std::optional<std::pair<int, Places>> found;
  int axis = 0;
  for (bool last = false; !last; ++axis) {
    const size_t comma = text.find(',');
    last = comma == std::string_view::npos;
    const auto places = places_of(text.substr(0, comma));
    if (!places || (!places->all && found)) return std::nullopt;
    if (!places->all) found = {axis, *places};
    if (!last) text.remove_prefix(comma + 1);
  }
  return axis == rank ? found : std::nullopt;
}

std::optional<ValueId> float_input(const Graph& graph, std::string_view name) {
  const auto value = graph.find(std::string(name));
  if (!value || *value >= std::ssize(graph.inputs()) || !is_float(graph.type(*value).dtype))
    return std::nullopt;
  return value;
}

bool shares(const std::vector<ValueAxis>& axes, const Graph& graph, const std::string& name, int axis) {
  return std::any_of(axes.begin(), axes.end(),
                     [&](const ValueAxis& at) { return at.axis == axis && graph.name(at.value) == name; });
}

}  // namespace

std::string place_text(int rank, int axis, int64_t first, int64_t count) {
  std::string text = "[";
  for (int i = 0; i < rank; ++i) {
    text += i > 0 ? "," : "";
    if (i != axis)
      text += ":";
    else
      text += std::to_string(first) + (count == 1 ? "" : ":" + std::to_string(first + count));
  }
  return text + "]";
}

std::string to_string(const Replacement& replacement, const Graph& graph) {
  const int rank = graph.type(*graph.find(replacement.input)).rank();
  return replacement.input + place_text(rank, replacement.axis, replacement.first, replacement.count) +
         " = " + std::string(Replacement::kNames[static_cast<size_t>(replacement.by)]);
}

Result<Replacement> parse_replacement(std::string_view text, const Graph& graph) {
  const Problem wrong{
      "expected elements of an input along one axis, such as \"x[:,3:5] = nan\", and one of nan, "
      "inf, huge, mixed, other"};
  const size_t open = text.find('['), close = text.find("] = ");
  if (open == std::string_view::npos || close == std::string_view::npos || close < open) return wrong;
  const std::string_view by = text.substr(close + 4);
  const auto* const known = std::find(Replacement::kNames.begin(), Replacement::kNames.end(), by);
  if (known == Replacement::kNames.end()) return wrong;
  const auto value = float_input(graph, text.substr(0, open));
  if (!value) return Problem{"the graph has no such input of floats"};
  const TensorType& type = graph.type(*value);
  const auto places = one_axis(text.substr(open + 1, close - open - 1), type.rank());
  if (!places) return wrong;
  const auto& [axis, along] = *places;
  if (along.first < 0 || along.first >= along.end || along.end > type.shape[static_cast<size_t>(axis)])
    return Problem{"the places are not within the axis, whose size is " +
                   std::to_string(type.shape[static_cast<size_t>(axis)])};
  return Replacement{graph.name(*value), axis, along.first, along.end - along.first,
                     static_cast<Replacement::By>(known - Replacement::kNames.begin())};
}

std::optional<std::string> moved_replacement(std::string_view text, const Graph& before, const Graph& after) {
  auto replacement = parse_replacement(text, before);
  if (!replacement) return std::nullopt;
  if (!float_input(after, replacement->input)) {
    const auto classes = axis_classes(before);
    const auto own = std::find_if(classes.begin(), classes.end(), [&](const AxisClass& axes) {
      return shares(axes.axes, before, replacement->input, replacement->axis);
    });
    if (own == classes.end()) return std::nullopt;
    const auto other = std::find_if(own->axes.begin(), own->axes.end(), [&](const ValueAxis& at) {
      return float_input(after, before.name(at.value)).has_value();
    });
    if (other == own->axes.end()) return std::nullopt;
    replacement->input = before.name(other->value);
    replacement->axis = other->axis;
  }
  const Shape& shape = after.type(*after.find(replacement->input)).shape;
  if (replacement->axis >= std::ssize(shape)) return std::nullopt;
  const int64_t size = shape[static_cast<size_t>(replacement->axis)];
  replacement->first = std::min(replacement->first, size - 1);
  replacement->count = std::min(replacement->count, size - replacement->first);
  return to_string(*replacement, after);
}

}  // namespace fusesmith::graph

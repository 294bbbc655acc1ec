#include "graph/memory_layout.h"

#include <algorithm>
#include <bit>
#include <numeric>

namespace fusesmith::graph {
namespace {

bool contains(const Shape& axes, int64_t axis) {
  return std::find(axes.begin(), axes.end(), axis) != axes.end();
}

// Axes of a type of this rank, each at most once.
bool are_axes(Shape axes, int rank) {
  std::sort(axes.begin(), axes.end());
  const bool once = std::adjacent_find(axes.begin(), axes.end()) == axes.end();
  return once && (axes.empty() || (axes.front() >= 0 && axes.back() < rank));
}

std::string axes_of(const TensorType& type) { return "axes of " + to_string(type) + ", each once"; }

Shape order_of(const MemoryLayout& layout, size_t rank) {
  if (!layout.order.empty()) return layout.order;
  Shape order(rank);
  std::iota(order.begin(), order.end(), 0);
  return order;
}

int64_t padding(const MemoryLayout& layout, size_t axis) { return layout.pad.empty() ? 0 : layout.pad[axis]; }

std::optional<Problem> pad_problem(const Shape& pad, const TensorType& type) {
  if (pad.empty()) return std::nullopt;
  if (pad.size() != type.shape.size())
    return expected("pad with a number for each axis of " + to_string(type) + ", got " + to_string(pad));
  for (const int64_t count : pad) {
    if (count < 0 || count > kMaxElements)
      return expected("pad between 0 and " + std::to_string(kMaxElements) + ", got " + to_string(pad));
  }
  return std::nullopt;
}

}  // namespace

std::optional<Problem> check_layout(const MemoryLayout& layout, const TensorType& type,
                                    const Shape& repeated) {
  const int rank = type.rank(), size = size_of(type.dtype);
  if (!layout.order.empty() &&
      (!are_axes(layout.order, rank) || static_cast<int>(layout.order.size()) != rank))
    return expected("order with all " + axes_of(type) + ", got " + to_string(layout.order));
  if (auto problem = pad_problem(layout.pad, type)) return problem;
  if (!are_axes(layout.expand, rank))
    return expected("expand with " + axes_of(type) + ", got " + to_string(layout.expand));
  for (const int64_t axis : layout.expand) {
    if (type.shape[static_cast<size_t>(axis)] > 1 && !contains(repeated, axis))
      return expected("data that repeats along axis " + std::to_string(axis) +
                      ", which the layout expands: name it in \"repeat\"");
  }
  if (layout.align < size || layout.align > MemoryLayout::kMaxAlign ||
      !std::has_single_bit(static_cast<uint64_t>(layout.align)))
    return expected("align as a power of two between " + std::to_string(size) + " and " +
                    std::to_string(MemoryLayout::kMaxAlign) + " for " + std::string(name(type.dtype)) +
                    ", got " + std::to_string(layout.align));
  if (strides_of(layout, type.shape).extent > kMaxElements)
    return expected("at most 2^27 elements with their padding");
  return std::nullopt;
}

std::optional<Problem> check_repeat(const Shape& repeat, const TensorType& type) {
  if (repeat.empty()) return std::nullopt;
  if (type.dtype == Dtype::i32) return expected("no repeat for i32");
  if (!are_axes(repeat, type.rank()))
    return expected("repeat with " + axes_of(type) + ", got " + to_string(repeat));
  return std::nullopt;
}

void repeat_elements(Tensor& tensor, const Shape& axes) {
  const size_t size = static_cast<size_t>(size_of(tensor.type.dtype));
  const Shape strides = strides_of(tensor.type.shape);
  for (const int64_t axis : axes) {
    const size_t slice = static_cast<size_t>(strides[static_cast<size_t>(axis)]) * size;
    const size_t run = slice * static_cast<size_t>(tensor.type.shape[static_cast<size_t>(axis)]);
    for (size_t start = 0; start < tensor.bytes.size(); start += run) {
      for (size_t i = slice; i < run; ++i) tensor.bytes[start + i] = tensor.bytes[start + i - slice];
    }
  }
}

Strides strides_of(const MemoryLayout& layout, const Shape& shape) {
  const Shape order = order_of(layout, shape.size());
  Strides strides{Shape(shape.size(), 0), 1};
  for (size_t i = order.size(); i-- > 0;) {
    const auto axis = static_cast<size_t>(order[i]);
    if (contains(layout.expand, order[i])) continue;
    strides.of_axes[axis] = strides.extent;
    strides.extent = element_count({strides.extent, shape[axis] + padding(layout, axis)});
  }
  return strides;
}

std::vector<LayoutClass> classes_of(const std::optional<MemoryLayout>& layout, const TensorType& type) {
  std::vector<LayoutClass> classes;
  if (layout) {
    const Shape strides = strides_of(*layout, type.shape).of_axes;
    int64_t outer = 0;
    bool permuted = false, padded = false, expanded = false;
    for (size_t axis = type.shape.size(); axis-- > 0;) {
      if (type.shape[axis] == 1) continue;
      expanded = expanded || strides[axis] == 0;
      permuted = permuted || (strides[axis] > 0 && strides[axis] < outer);
      outer = std::max(outer, strides[axis]);
    }
    for (size_t axis = 0; axis < layout->pad.size(); ++axis)
      padded = padded || (layout->pad[axis] > 0 && !contains(layout->expand, static_cast<int64_t>(axis)));
    if (permuted) classes.push_back(LayoutClass::permuted);
    if (padded) classes.push_back(LayoutClass::padded);
    if (layout->offset > 0) classes.push_back(LayoutClass::offset);
    if (expanded) classes.push_back(LayoutClass::expanded);
    const int64_t start = layout->offset * size_of(type.dtype);
    if (layout->align < 16 || start % 16 != 0) classes.push_back(LayoutClass::misaligned);
  }
  if (classes.empty()) classes.push_back(LayoutClass::dense);
  return classes;
}

std::string to_string(const MemoryLayout& layout, const TensorType& type) {
  std::string text = "strides " + to_string(strides_of(layout, type.shape).of_axes);
  if (layout.offset > 0) text += ", offset " + std::to_string(layout.offset);
  if (layout.align < MemoryLayout::kMaxAlign) text += ", " + std::to_string(layout.align) + "-byte aligned";
  return text;
}

}  // namespace fusesmith::graph

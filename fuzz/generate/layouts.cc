#include "fuzz/generate/layouts.h"

#include <algorithm>
#include <numeric>

#include "graph/rebuild.h"

namespace fusesmith::fuzz {
namespace {

constexpr int64_t kMaxGrowth = 4;  // times the elements of a tensor, with its padding

Shape draw_order(Choices& choices, int rank) {
  Shape order(static_cast<size_t>(rank));
  std::iota(order.begin(), order.end(), 0);
  if (rank >= 4 && choices.flip(0.4)) {  // [batch, heads, tokens, depth] as [batch, tokens, heads, depth]
    std::swap(order[order.size() - 2], order[order.size() - 3]);
    return order;
  }
  for (size_t i = order.size(); i-- > 1;)
    std::swap(order[i], order[static_cast<size_t>(choices.below(static_cast<int64_t>(i) + 1))]);
  return order;
}

// Rows that are longer than they need to be, or one part of several that are interleaved along an axis.
void draw_padding(Choices& choices, const Shape& shape, MemoryLayout& layout) {
  layout.pad.assign(shape.size(), 0);
  const auto axis = static_cast<size_t>(choices.below(static_cast<int64_t>(shape.size())));
  if (choices.flip(0.2)) {
    layout.pad[axis] = 2 * shape[axis];
    layout.offset = choices.below(3) * shape[axis] * strides_of(shape)[axis];
    return;
  }
  layout.pad.back() = choices.pick({1, 2, 3, 4, 7, 8, 16});
  if (choices.flip(0.3)) layout.pad[axis] = choices.between(1, 3);
}

MemoryLayout draw_layout(Choices& choices, const TensorType& type, bool expandable) {
  const int64_t size = size_of(type.dtype);
  MemoryLayout layout;
  if (type.rank() > 1 && choices.flip(0.35)) layout.order = draw_order(choices, type.rank());
  if (type.rank() > 0 && choices.flip(0.5)) draw_padding(choices, type.shape, layout);
  if (choices.flip(0.4))
    layout.offset += choices.flip(0.5) ? choices.between(1, 17) : 8 * choices.between(1, 8);
  if (type.rank() > 0 && expandable && choices.flip(0.3)) {
    layout.expand = {choices.below(type.rank())};
    if (type.rank() > 1 && choices.flip(0.2)) layout.expand.push_back((layout.expand[0] + 1) % type.rank());
  }
  if (choices.flip(0.4)) layout.align = std::max<int64_t>(size, choices.pick({1, 2, 4, 8, 16, 32, 64, 128}));
  const int64_t most = kMaxGrowth * element_count(type) + 64;
  if (layout.offset > MemoryLayout::kMaxOffset) layout.offset = 1;
  if (strides_of(layout, type.shape).extent > most) layout.pad.clear();
  return layout;
}

// Whether the data may repeat: what nodes rely on (exact data, rows of a Hadamard matrix) must stay.
bool may_repeat(const Input& input, bool exact) {
  if (std::holds_alternative<Constant>(input.fill)) return true;
  return !exact && input.type.dtype != Dtype::i32 && !std::holds_alternative<Hadamard>(input.fill);
}

}  // namespace

Graph with_layouts(Choices& choices, Graph graph, bool exact) {
  std::vector<Input> inputs = graph.inputs();
  std::vector<State> states = graph.states();
  for (Input& input : inputs) {
    if (!choices.flip(0.6)) continue;
    input.layout = draw_layout(choices, input.type, may_repeat(input, exact));
    if (!std::holds_alternative<Constant>(input.fill)) input.repeat = input.layout->expand;
  }
  for (State& state : states) {
    if (choices.flip(0.6)) state.layout = draw_layout(choices, state.type, false);
  }
  auto built = rebuild(graph, std::move(inputs), std::move(states), graph.outputs());
  check(built.ok(), "with_layouts: a layout is not valid");
  return std::move(*built);
}

}  // namespace fusesmith::fuzz

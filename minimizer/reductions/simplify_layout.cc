// Memory layouts: none at all, or without one of its parts, or with a smaller number in it. Data stops
// repeating along axes that no layout expands.
#include <algorithm>

#include "minimizer/reductions.h"

namespace fusesmith::minimizer {
namespace {

using Layouts = std::vector<MemoryLayout>;

// The layout without one of its parts.
Layouts without_a_part(const MemoryLayout& layout) {
  Layouts smaller;
  for_each_field<MemoryLayout>([&](const auto& field) {
    MemoryLayout without = layout;
    without.*field.member = MemoryLayout{}.*field.member;
    if (without != layout) smaller.push_back(std::move(without));
  });
  for (size_t i = 0; i < layout.expand.size() && layout.expand.size() > 1; ++i) {
    smaller.push_back(layout);
    smaller.back().expand.erase(smaller.back().expand.begin() + static_cast<std::ptrdiff_t>(i));
  }
  return smaller;
}

// The layout with a smaller padding or offset, or a more usual alignment.
Layouts with_smaller_numbers(const MemoryLayout& layout) {
  Layouts smaller;
  for (size_t axis = 0; axis < layout.pad.size(); ++axis) {
    for (const int64_t pad : {0, 1}) {
      if (layout.pad[axis] <= pad) continue;
      smaller.push_back(layout);
      smaller.back().pad[axis] = pad;
    }
  }
  if (layout.offset > 1) {
    smaller.push_back(layout);
    smaller.back().offset = 1;
  }
  for (int64_t align = layout.align * 2; align < MemoryLayout::kMaxAlign; align *= 2) {
    smaller.push_back(layout);
    smaller.back().align = align;
  }
  return smaller;
}

void propose_for(const std::string& source, const std::optional<MemoryLayout>& layout, const Shape& repeat,
                 std::vector<Edits>& proposals) {
  if (!layout) {
    if (!repeat.empty()) proposals.push_back({SetLayout{source, {}, {}}});
    return;
  }
  proposals.push_back({SetLayout{source, {}, repeat}});
  for (MemoryLayout& smaller : without_a_part(*layout))
    proposals.push_back({SetLayout{source, std::move(smaller), repeat}});
  for (MemoryLayout& smaller : with_smaller_numbers(*layout))
    proposals.push_back({SetLayout{source, std::move(smaller), repeat}});
  if (repeat != layout->expand) proposals.push_back({SetLayout{source, layout, layout->expand}});
}

std::vector<Edits> propose_simplify_layout(const Situation& now) {
  const Graph& graph = now.test_case.graph;
  std::vector<Edits> proposals;
  Edits all;
  for (const Input& input : graph.inputs()) {
    if (input.layout) all.push_back(SetLayout{input.name, {}, input.repeat});
  }
  for (const State& state : graph.states()) {
    if (state.layout) all.push_back(SetLayout{state.name, {}, {}});
  }
  if (all.size() > 1) proposals.push_back(std::move(all));
  for (const Input& input : graph.inputs()) propose_for(input.name, input.layout, input.repeat, proposals);
  for (const State& state : graph.states()) propose_for(state.name, state.layout, {}, proposals);
  return proposals;
}

}  // namespace

const Reduction kSimplifyLayout{"simplify_layout",
                                "Store inputs and states densely, or with a simpler memory layout.",
                                propose_simplify_layout, true};

}  // namespace fusesmith::minimizer

#include "fuzz/run/subset.h"

#include <algorithm>
#include <cmath>
#include <numeric>

#include "fuzz/base/table.h"
#include "graph/element_index.h"
#include "graph/subgraph.h"
#include "minimizer/draft.h"
#include "minimizer/retype.h"

namespace fusesmith::fuzz {
namespace {

constexpr size_t kListed = 8;

// The elements of x at these places along the axis; x itself for axis -1.
Tensor taken(const Tensor& x, int axis, const std::vector<int64_t>& places) {
  if (axis < 0) return x;
  TensorType type = x.type;
  const int64_t size = std::exchange(type.shape[static_cast<size_t>(axis)], std::ssize(places));
  Tensor y(type);
  const int64_t run = strides_of(x.type.shape)[static_cast<size_t>(axis)] * size_of(x.type.dtype);
  auto to = y.bytes.begin();
  for (int64_t line = 0; line < static_cast<int64_t>(x.bytes.size()) / run; line += size) {
    for (const int64_t place : places) to = std::copy_n(x.bytes.begin() + (line + place) * run, run, to);
  }
  return y;
}

std::vector<int64_t> draw_kept(int64_t size, Choices& choices) {
  std::vector<int64_t> counts;
  for (const int64_t count : {int64_t{1}, int64_t{2}, int64_t{15}, int64_t{16}, int64_t{17}, int64_t{255},
                              int64_t{256}, int64_t{257}, size / 2, size - 1}) {
    if (count >= 1 && count < size) counts.push_back(count);
  }
  const int64_t count = choices.pick(std::span<const int64_t>(counts));
  std::vector<int64_t> all(static_cast<size_t>(size));
  std::iota(all.begin(), all.end(), 0);
  if (choices.flip(0.5)) {  // neighbours
    const int64_t first = choices.between(0, size - count);
    return {all.begin() + first, all.begin() + first + count};
  }
  for (int64_t i = 0; i < count; ++i)
    std::swap(all[static_cast<size_t>(i)], all[static_cast<size_t>(choices.between(i, size - 1))]);
  all.resize(static_cast<size_t>(count));
  std::sort(all.begin(), all.end());
  return all;
}

std::string kept_text(const Graph& graph, const Exchange& along, const std::vector<int64_t>& places) {
  std::vector<std::string> listed;
  for (const int64_t place : places) listed.push_back(std::to_string(place));
  std::string text = places.size() > kListed ? counted(std::ssize(places), "place") + " from " + listed[0] +
                                                   " to " + listed.back()
                                             : (places.size() > 1 ? "places " : "place ") + list_text(listed);
  for (ValueId v = 0; v < std::ssize(graph.inputs()); ++v) {
    const int axis = along.axes[static_cast<size_t>(v)];
    if (axis >= 0) return text + " of axis " + std::to_string(axis) + " of " + graph.name(v);
  }
  return text;
}

// The whole graph with that many places; nothing where another axis would change with it.
std::optional<Graph> cut_graph(const Graph& graph, const Exchange& along, int64_t count) {
  const auto at = std::find_if(along.axes.begin(), along.axes.end(), [](int axis) { return axis >= 0; });
  const auto value = static_cast<ValueId>(at - along.axes.begin());
  auto draft = minimizer::resize(graph, {graph.name(value), *at, count});
  auto cut = draft ? minimizer::build(std::move(*draft)) : std::nullopt;
  if (!cut || cut->value_count() != graph.value_count()) return std::nullopt;
  for (ValueId v = 0; v < graph.value_count(); ++v) {
    const auto own = cut->find(graph.name(v));
    TensorType wanted = graph.type(v);
    const int axis = along.axes[static_cast<size_t>(v)];
    if (axis >= 0) wanted.shape[static_cast<size_t>(axis)] = count;
    if (!own || *own != v || cut->type(v) != wanted) return std::nullopt;
  }
  return cut;
}

bool is_same_element(const Tensor& x, const Tensor& y, int64_t i) {
  const int64_t size = size_of(x.type.dtype);
  const auto from = x.bytes.begin() + i * size;
  return std::equal(from, from + size, y.bytes.begin() + i * size) ||
         (std::isnan(x.value(i)) && std::isnan(y.value(i)));
}

// But for the payloads of NaN.
bool is_same(const Tensor& x, const Tensor& y) {
  if (x == y) return true;
  int64_t i = 0;
  while (i < x.size() && is_same_element(x, y, i)) ++i;
  return i == x.size();
}

Disagreement differing(const Tensor& whole, const Tensor& wanted, const Tensor& got, int axis,
                       const Subset& subset) {
  int64_t i = 0;
  while (is_same_element(wanted, got, i)) ++i;
  Shape place = unravelled(i, got.type.shape);
  if (axis >= 0) {
    auto& along = place[static_cast<size_t>(axis)];
    along = subset.places[static_cast<size_t>(along)];
  }
  const Shape steps = strides_of(whole.type.shape);
  Disagreement found;
  found.kind = Disagreement::Kind::subset;
  found.element = std::inner_product(place.begin(), place.end(), steps.begin(), int64_t{0});
  found.first = wanted.value(i);
  found.second = got.value(i);
  found.change = subset.kept;
  if (axis + 1 < std::ssize(got.type.shape)) {  // rows are kept as a whole
    found.row = row_of(wanted, got, i);
    found.row.first += found.element - i;
  }
  return found;
}

}  // namespace

std::optional<Subset> draw_subset(const Graph& graph, const Region& region, const Trace& trace,
                                  Choices& choices) {
  const auto part = subgraph_without_data(graph, region.nodes, trace.values);
  if (!part) return std::nullopt;
  std::vector<Exchange> axes = exchanges_of(part->graph);
  std::erase_if(axes, [](const Exchange& along) { return along.axes[0] < 0; });
  if (axes.empty()) return std::nullopt;
  const Exchange& along = axes[static_cast<size_t>(choices.below(std::ssize(axes)))];
  std::vector<int64_t> places = draw_kept(along.size, choices);
  auto cut = cut_graph(part->graph, along, std::ssize(places));
  if (!cut) return std::nullopt;
  std::string kept = kept_text(part->graph, along, places);
  return Subset{std::move(*cut), part->in_whole, along.axes, std::move(places), std::move(kept)};
}

std::vector<size_t> batch_invariant_regions(const Plan& plan) {
  std::vector<size_t> found;
  for (size_t r = 0; r < plan.regions.size(); ++r) {
    if (plan.regions[r].contract.arithmetic.batch_invariant) found.push_back(r);
  }
  return found;
}

MetamorphicCheck check_subset(Program& part, size_t region, const Trace& before, const Subset& subset,
                              bool required) {
  MetamorphicCheck check;
  if (!required && (part.plan().regions.size() != 1 || batch_invariant_regions(part.plan()).empty()))
    return check;
  const auto whole = [&](ValueId v) {
    return before.values[static_cast<size_t>(subset.in_whole[static_cast<size_t>(v)])];
  };
  const auto wanted = [&](ValueId v) {
    return taken(*whole(v), subset.axes[static_cast<size_t>(v)], subset.places);
  };
  Inputs inputs;
  for (ValueId v = 0; v < std::ssize(subset.graph.inputs()); ++v)
    inputs.push_back(std::make_shared<const Tensor>(wanted(v)));
  const auto after = run_unless_refused(part, inputs);
  if (!after) return check;
  for (const ValueId v : subset.graph.outputs()) {
    if (!whole(v)) continue;
    const Tensor expected = wanted(v), &got = *after->values[static_cast<size_t>(v)];
    check.compared += got.size();
    if (is_same(expected, got)) continue;
    check.broken = differing(*whole(v), expected, got, subset.axes[static_cast<size_t>(v)], subset);
    check.broken->region = region;
    check.broken->value = subset.in_whole[static_cast<size_t>(v)];
    return check;
  }
  return check;
}

}  // namespace fusesmith::fuzz

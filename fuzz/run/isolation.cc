#include "fuzz/run/isolation.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <limits>

#include "graph/axis_classes.h"
#include "graph/memory_layout.h"

namespace fusesmith::fuzz {
namespace {

using By = Replacement::By;
constexpr std::array<std::string_view, 5> kByTexts = {"NaN", "infinities", "huge numbers",
                                                      "NaN, infinities and huge numbers", "other numbers"};

// The ends are read by mistake more often than what lies between them.
void draw_places(int64_t size, Choices& choices, Replacement& drawn) {
  if (choices.flip(0.5)) drawn.count = choices.between(1, std::max<int64_t>(1, size / 2));
  const int64_t last = size - drawn.count;
  drawn.first = choices.flip(0.5) ? choices.pick({int64_t{0}, last}) : choices.between(0, last);
}

double special(By by, Dtype dtype, int64_t number) {
  const double infinity = std::numeric_limits<double>::infinity();
  const double sign = number % 2 == 0 ? 1 : -1;
  if (by == By::mixed) by = static_cast<By>(number / 2 % 3);
  if (by == By::nan) return std::numeric_limits<double>::quiet_NaN();
  return sign * (by == By::inf ? infinity : max_finite(dtype) / 2);
}

// A number like those of the tensor, but not the one that is there. What is not finite stays.
double other_number(const Tensor& x, int64_t i) {
  const double own = x.value(i), one = x.value((i + 1 + x.size() / 2) % x.size());
  if (!std::isfinite(own)) return own;
  if (std::isfinite(one) && one != 0 && -one != own) return -one;
  return own == 0 ? 1 : -own;
}

// Along which all elements have to be those of index 0.
Shape repeating_axes(const Input& input) {
  Shape axes = input.repeat;
  if (input.layout) axes.insert(axes.end(), input.layout->expand.begin(), input.layout->expand.end());
  return axes;
}

Tensor replaced(const Tensor& x, const Input& input, int axis, const Replacement& replacement) {
  Tensor y = x;
  const int64_t size = x.type.shape[static_cast<size_t>(axis)];
  const int64_t run = strides_of(x.type.shape)[static_cast<size_t>(axis)];
  for (int64_t i = 0, number = 0; i < x.size(); ++i) {
    const int64_t place = i / run % size;
    if (place < replacement.first || place >= replacement.first + replacement.count) continue;
    y.set(i,
          replacement.by == By::other ? other_number(x, i) : special(replacement.by, x.type.dtype, number++));
  }
  repeat_elements(y, repeating_axes(input));
  return y;
}

// By input: the axis of the class that is replaced, -1 where there is none.
std::vector<int> replaced_axes(const Graph& graph, const AxisClass& axes) {
  std::vector<int> found(graph.inputs().size(), -1);
  for (const ValueAxis& at : axes.axes) {
    const auto i = static_cast<size_t>(at.value);
    if (i >= found.size() || found[i] >= 0 || !is_float(graph.type(at.value).dtype)) continue;
    const Shape repeated = repeating_axes(graph.inputs()[i]);
    if (std::find(repeated.begin(), repeated.end(), at.axis) == repeated.end()) found[i] = at.axis;
  }
  return found;
}

Reach none_reached(const Graph& graph) {
  Reach reach;
  for (ValueId v = 0; v < graph.value_count(); ++v)
    reach.emplace_back(static_cast<size_t>(element_count(graph.type(v))));
  return reach;
}

struct Element {
  size_t region = 0;
  ValueId value = -1;
  int64_t element = 0;
};

std::optional<Element> first_change(const Plan& plan, const Trace& before, const Trace& after,
                                    const Reach& reach) {
  for (size_t r = 0; r < plan.regions.size(); ++r) {
    for (const ValueId v : plan.regions[r].outputs) {
      const auto at = static_cast<size_t>(v);
      const Tensor &x = *before.values[at], &y = *after.values[at];
      const size_t bytes = size_of(x.type.dtype);
      for (size_t i = 0; i < reach[at].size(); ++i) {
        const auto from = x.bytes.begin() + static_cast<std::ptrdiff_t>(i * bytes);
        if (!reach[at][i] && !std::equal(from, from + static_cast<std::ptrdiff_t>(bytes),
                                         y.bytes.begin() + static_cast<std::ptrdiff_t>(i * bytes)))
          return Element{r, v, static_cast<int64_t>(i)};
      }
    }
  }
  return std::nullopt;
}

}  // namespace

std::optional<Replacement> draw_replacement(const Graph& graph, bool foreign, Choices& choices) {
  std::vector<std::pair<AxisClass, std::vector<int>>> candidates;
  std::vector<int> weights;
  for (AxisClass& axes : axis_classes(graph)) {
    std::vector<int> by_input = replaced_axes(graph, axes);
    if (axes.size < 2 || std::all_of(by_input.begin(), by_input.end(), [](int axis) { return axis < 0; }))
      continue;
    weights.push_back(axes.fixed ? 1 : 3);  // along batch axes, more stays unreached
    candidates.emplace_back(std::move(axes), std::move(by_input));
  }
  if (candidates.empty()) return std::nullopt;
  const auto& [axes, by_input] = candidates[choices.weighted(weights)];
  const auto at = std::find_if(by_input.begin(), by_input.end(), [](int axis) { return axis >= 0; });
  Replacement drawn{graph.name(static_cast<ValueId>(at - by_input.begin())), *at};
  draw_places(axes.size, choices, drawn);
  const bool finite = axes.fixed && (foreign || choices.flip(0.5));
  drawn.by = finite ? By::other : static_cast<By>(choices.below(kByTexts.size()));
  return drawn;
}

Replaced replaced_inputs(const Graph& graph, const Inputs& inputs, const Replacement& replacement) {
  Replaced result{inputs, ""};
  const ValueAxis own{*graph.find(replacement.input), replacement.axis};
  for (const AxisClass& axes : axis_classes(graph)) {
    if (std::find(axes.axes.begin(), axes.axes.end(), own) == axes.axes.end()) continue;
    const std::vector<int> by_input = replaced_axes(graph, axes);
    for (size_t i = 0; i < by_input.size(); ++i) {
      const int axis = by_input[i];
      if (axis < 0) continue;
      result.inputs[i] =
          std::make_shared<const Tensor>(replaced(*inputs[i], graph.inputs()[i], axis, replacement));
      const auto v = static_cast<ValueId>(i);
      result.change +=
          result.change.empty() ? std::string(kByTexts[static_cast<size_t>(replacement.by)]) + " in " : ", ";
      result.change +=
          graph.name(v) + graph::place_text(graph.type(v).rank(), axis, replacement.first, replacement.count);
    }
  }
  return result;
}

std::optional<Replaced> replaced_by_policy(const Case& test_case, const Inputs& inputs) {
  if (test_case.policy.replaced.empty() || !test_case.graph.states().empty()) return std::nullopt;
  const auto replacement = parse_replacement(test_case.policy.replaced, test_case.graph);
  return replacement ? std::optional(replaced_inputs(test_case.graph, inputs, *replacement)) : std::nullopt;
}

bool leaves_any(const Plan& plan, const Reach& reach) {
  return std::any_of(plan.regions.begin(), plan.regions.end(), [&](const Region& region) {
    return std::any_of(region.outputs.begin(), region.outputs.end(), [&](ValueId v) {
      const auto& marks = reach[static_cast<size_t>(v)];
      return std::find(marks.begin(), marks.end(), 0) != marks.end();
    });
  });
}

MetamorphicCheck check_isolation(Program& program, const Graph& graph, const Trace& before,
                                 const Replaced& replaced, const Reach& reach) {
  MetamorphicCheck result;
  const auto after = run_unless_refused(program, replaced.inputs);
  if (!after) return result;
  for (const Region& region : program.plan().regions) {
    for (const ValueId v : region.outputs) {
      const auto& marks = reach[static_cast<size_t>(v)];
      result.compared += std::count(marks.begin(), marks.end(), 0);
    }
  }
  const auto changed = first_change(program.plan(), before, *after, reach);
  if (!changed) return result;
  const Inputs inputs(before.values.begin(), before.values.begin() + std::ssize(graph.inputs()));
  const Trace before_again = program.run(inputs), after_again = program.run(replaced.inputs);
  const Reach nothing = none_reached(graph);
  if (first_change(program.plan(), before, before_again, nothing) ||
      first_change(program.plan(), *after, after_again, nothing))
    return result;
  const auto at = static_cast<size_t>(changed->value);
  result.broken = {Disagreement::Kind::isolation,
                   changed->region,
                   changed->value,
                   changed->element,
                   before.values[at]->value(changed->element),
                   after->values[at]->value(changed->element),
                   replaced.change,
                   row_of(*before.values[at], *after->values[at], changed->element)};
  return result;
}

}  // namespace fusesmith::fuzz

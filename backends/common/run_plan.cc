#include "backends/common/run_plan.h"

#include <algorithm>

namespace fusesmith::backends {
namespace {

// Values that the region computed but did not store are not part of the trace.
void forget_inner(const Node& node, const Region& region, std::span<TensorPtr> values) {
  for (ValueId v = node.first_output; v < node.first_output + node.output_count; ++v) {
    const bool stored = std::find(region.outputs.begin(), region.outputs.end(), v) != region.outputs.end();
    if (!stored) values[static_cast<size_t>(v)] = nullptr;
  }
}

// Why run number `other` gave other results than run number `first`: the pattern in the padding, if every
// further run with the pattern of `first` gives its results, and none with that of `other` does.
Disagreement::Kind reason(Program& program, std::span<const TensorPtr> inputs, const Trace& trace,
                          LayoutRuns& layouts, size_t first, size_t other) {
  using Kind = Disagreement::Kind;
  const auto differs = [&](size_t number) {
    layouts.count = number;
    return first_difference(Kind::repeat, program.plan(), trace, program.run(inputs)).has_value();
  };
  for (int i = 0; i < 3; ++i) {
    if (differs(first) || !differs(other)) return Kind::repeat;
  }
  return Kind::poison;
}

}  // namespace

Trace run_plan(const Graph& graph, const Plan& plan, std::span<const TensorPtr> inputs, LayoutRuns& layouts,
               const RunRegion& run_region) {
  check(inputs.size() == static_cast<size_t>(graph.source_count()), "run_plan: wrong number of inputs");
  Trace trace;
  trace.values.resize(static_cast<size_t>(graph.value_count()));
  const auto holds = [&](ValueId v) {
    const TensorPtr& value = trace.values[static_cast<size_t>(v)];
    return value && value->type == graph.type(v);
  };
  for (size_t i = 0; i < inputs.size(); ++i) {
    trace.values[i] = inputs[i];
    check(holds(static_cast<ValueId>(i)), "run_plan: an input is missing or of another type");
  }
  const PlacedSources placed(graph, trace.values, layouts.count++);
  layouts.placed = placed.empty() ? nullptr : &placed;
  for (const Region& region : plan.regions) {
    run_region(region, trace.values);
    for (int n : region.nodes) forget_inner(graph.nodes()[static_cast<size_t>(n)], region, trace.values);
    for (ValueId v : region.outputs)
      check(holds(v), "run_plan: a region output is missing or of another type");
  }
  layouts.damaged = placed.damaged();
  placed.read_back(trace.values);
  layouts.placed = nullptr;
  return trace;
}

std::optional<Disagreement> repeat_plan(Program& program, const Graph& graph,
                                        std::span<const TensorPtr> inputs, const Trace& trace,
                                        LayoutRuns& layouts) {
  constexpr int kTimes = 2;
  const size_t first = layouts.count - 1;  // the run that left `trace`
  for (int i = 0;; ++i) {
    if (layouts.damaged) return written_around(graph, program.plan(), *layouts.damaged);
    if (i == kTimes) return std::nullopt;
    const Trace again = program.run(inputs);
    if (auto found = first_difference(Disagreement::Kind::repeat, program.plan(), trace, again)) {
      if (has_layouts(graph)) found->kind = reason(program, inputs, trace, layouts, first, layouts.count - 1);
      return found;
    }
  }
}

}  // namespace fusesmith::backends

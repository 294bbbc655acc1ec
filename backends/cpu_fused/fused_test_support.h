// For tests: a graph run by cpu_fused, and the same graph in f64 from the definitions of its ops, without any
// rounding.
#pragma once

#include <algorithm>
#include <cmath>
#include <string>
#include <vector>

#include "backends/cpu_fused/cpu_fused_backend.h"
#include "backends/rewrite/pattern.h"
#include "graph/op_tests/op_tests.h"
#include "graph/rebuild.h"

namespace fusesmith::backends {

struct FusedRun {
  Plan plan;
  Trace trace;
};

// Inputs, then states.
inline std::vector<TensorPtr> draw_inputs(const Graph& graph, uint64_t seed = 1) {
  Case drawn;
  drawn.seed = seed;
  std::vector<TensorPtr> sources;
  const auto draw = [&](const auto& source) {
    sources.push_back(std::make_shared<const Tensor>(data_of(drawn, source)));
  };
  std::for_each(graph.inputs().begin(), graph.inputs().end(), draw);
  std::for_each(graph.states().begin(), graph.states().end(), draw);
  return sources;
}

// Layouts to try on every source of a graph, as far as its type allows.
enum class TestLayout : uint8_t { padded_rows, padded_outside, reversed, heads_inside, expanded, misaligned };
inline constexpr TestLayout kTestLayouts[] = {TestLayout::padded_rows, TestLayout::padded_outside,
                                              TestLayout::reversed,    TestLayout::heads_inside,
                                              TestLayout::expanded,    TestLayout::misaligned};

inline MemoryLayout test_layout(TestLayout which, const TensorType& type, bool may_expand) {
  const auto rank = static_cast<size_t>(type.rank());
  MemoryLayout layout{.offset = 3, .align = size_of(type.dtype)};
  if (rank == 0 || which == TestLayout::misaligned) return layout;
  layout.pad.assign(rank, 0);
  if (which == TestLayout::padded_rows) layout.pad.back() = 5;
  if (which == TestLayout::padded_outside && rank > 1) layout.pad[rank - 2] = 2;
  for (int64_t axis = 0; axis < type.rank(); ++axis) layout.order.push_back(axis);
  if (which == TestLayout::reversed) std::reverse(layout.order.begin(), layout.order.end());
  if (which == TestLayout::heads_inside && rank > 2)
    std::swap(layout.order[rank - 2], layout.order[rank - 3]);
  if (which == TestLayout::expanded && may_expand) layout.expand = {0};
  return layout;
}

// The graph with dense sources and data that repeats if the layout needs that, and the same with the layout.
struct LaidOut {
  Graph dense, laid_out;
};
inline LaidOut lay_out(const Graph& graph, TestLayout which) {
  std::vector<Input> inputs = graph.inputs();
  std::vector<State> states = graph.states();
  for (Input& input : inputs) {
    input.layout = test_layout(which, input.type, input.type.dtype != Dtype::i32);
    input.repeat = input.layout->expand;
  }
  for (State& state : states) state.layout = test_layout(which, state.type, false);
  const Graph laid_out = *rebuild(graph, inputs, states, graph.outputs());
  for (Input& input : inputs) input.layout.reset();
  for (State& state : states) state.layout.reset();
  return {*rebuild(graph, inputs, states, graph.outputs()), laid_out};
}

// The last of so many steps on the same inputs.
inline FusedRun run_fused_plan(const Graph& graph, std::vector<TensorPtr> inputs,
                               std::vector<std::string> faults = {}, int steps = 1) {
  CompileOptions options;
  options.faults = Faults(std::move(faults));
  auto program = cpu_fused_backend().compile(graph, options);
  check(program.ok(), "cpu_fused: expected every graph to compile");
  for (int step = 1; step < steps; ++step) {
    const Trace trace = (*program)->run(inputs);
    for (size_t s = 0; s < graph.states().size(); ++s)
      inputs[graph.inputs().size() + s] = trace.values[static_cast<size_t>(graph.states()[s].next)];
  }
  return {(*program)->plan(), (*program)->run(inputs)};
}

inline std::vector<op_tests::Values> evaluate_naively(const Graph& graph,
                                                      const std::vector<TensorPtr>& inputs) {
  std::vector<op_tests::Values> values;
  for (const TensorPtr& input : inputs) values.push_back({input->type.shape, to_f64(*input)});
  for (const Node& node : graph.nodes()) {
    op_tests::Args args;
    for (ValueId v : node.inputs) args.push_back(values[static_cast<size_t>(v)]);
    for (int i = 0; i < node.output_count; ++i) {
      const Shape& shape = graph.type(node.first_output + i).shape;
      const auto eval = [&](const auto& op) {
        return op_tests::eval_output(op, args, shape, static_cast<size_t>(i));
      };
      values.push_back(std::visit(eval, node.op));
    }
  }
  return values;
}

// The first element that is not within `tolerance` of the largest magnitude (at least 1), or NaN or infinite
// in one only; empty if there is none.
inline std::string mismatch(const Tensor& got, const op_tests::Values& want, double tolerance) {
  double magnitude = 1;
  for (double x : want.data) {
    if (std::isfinite(x)) magnitude = std::max(magnitude, std::fabs(x));
  }
  for (size_t i = 0; i < want.data.size(); ++i) {
    const double x = got.value(static_cast<int64_t>(i)), y = want.data[i];
    const bool near = std::isfinite(y) ? std::fabs(x - y) <= tolerance * magnitude
                                       : x == y || (std::isnan(x) && std::isnan(y));
    if (!near)
      return "element " + std::to_string(i) + " is " + number_text(x) + ", expected " + number_text(y);
  }
  return "";
}

// The same for every output of a graph that cpu_fused runs on these inputs.
inline std::string output_mismatch(const Graph& graph, const std::vector<TensorPtr>& inputs,
                                   double tolerance) {
  const FusedRun run = run_fused_plan(graph, inputs);
  const auto want = evaluate_naively(graph, inputs);
  for (ValueId v : graph.outputs()) {
    const size_t i = static_cast<size_t>(v);
    const std::string text = mismatch(*run.trace.values[i], want[i], tolerance);
    if (!text.empty()) return graph.name(v) + ": " + text;
  }
  return "";
}

}  // namespace fusesmith::backends

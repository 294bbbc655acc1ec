#include "fuzz/run/metamorphic.h"

#include <algorithm>
#include <cmath>

#include "backends/worker_error.h"
#include "graph/element_index.h"

namespace fusesmith::fuzz {
namespace {

// The elements of x in other places along the axis.
Tensor exchanged(const Tensor& x, int axis, const std::vector<int64_t>& places) {
  Tensor y(x.type);
  const auto bytes = static_cast<int64_t>(size_of(x.type.dtype));
  const int64_t size = x.type.shape[static_cast<size_t>(axis)];
  const int64_t run = strides_of(x.type.shape)[static_cast<size_t>(axis)] * bytes;
  for (int64_t at = 0; at < static_cast<int64_t>(x.bytes.size()); at += run) {
    const int64_t line = at / run, base = line / size * size;
    const int64_t from = (base + places[static_cast<size_t>(line % size)]) * run;
    std::copy_n(x.bytes.begin() + from, run, y.bytes.begin() + at);
  }
  return y;
}

// Scaled exactly wherever the result is a normal number.
Tensor scaled(const Tensor& x, int exponent) {
  if (exponent == 0 || !is_float(x.type.dtype)) return x;
  Tensor y(x.type);
  for (int64_t i = 0; i < x.size(); ++i) y.set(i, std::ldexp(x.value(i), exponent));
  return y;
}

// Whether rounding could notice the scaling at the low end: an element that is not normal, or close to it, in
// one of the runs. Zero in both is no such element. The smallest normal number is one: it may have been
// rounded up, and below it subnormal numbers lie twice as far apart as their scaled counterparts do.
bool has_tiny(const std::vector<double>& before, const std::vector<double>& after, Dtype dtype) {
  const double smallest = std::ldexp(1.0, std::max(min_exponent(dtype), -40));
  for (size_t i = 0; i < before.size(); ++i) {
    const double x = std::fabs(before[i]), y = std::fabs(after[i]);
    if ((x <= smallest || y <= smallest) && !(x == 0 && y == 0)) return true;
  }
  return false;
}

// The same at the high end; NaN too.
bool has_huge(const std::vector<double>& before, const std::vector<double>& after, Dtype dtype) {
  const double largest = std::min(max_finite(dtype) / 2, 0x1p40);
  for (size_t i = 0; i < before.size(); ++i) {
    const double x = std::fabs(before[i]), y = std::fabs(after[i]);
    if (!(x <= largest && y <= largest) && !(std::isinf(x) && std::isinf(y))) return true;
  }
  return false;
}

// Of a value in the program's own runs and in those without fusion, which show what the program keeps inside.
// The program may correctly compute another value there, after cancellation by far; with the exponents of f16
// that may then be tiny, which nobody sees.
bool is_moderate(ValueId v, Dtype dtype, const ScaledRuns& own, const ScaledRuns& unfused) {
  const auto at = static_cast<size_t>(v);
  const TensorPtr &before = unfused.before.values[at], &after = unfused.after.values[at];
  if (!before || !after) return false;
  if (!is_float(dtype)) return true;
  const std::vector<double> x = to_f64(*before), y = to_f64(*after);
  if (has_tiny(x, y, dtype) || has_huge(x, y, dtype)) return false;
  if (!own.before.values[at]) return dtype != Dtype::f16;
  if (own.before.values[at] == before) return true;
  return !has_tiny(to_f64(*own.before.values[at]), to_f64(*own.after.values[at]), dtype);
}

// By ValueId: whether the value and all that it is made of are moderate.
std::vector<bool> moderate_values(const Graph& graph, const ScaledRuns& own, const ScaledRuns& unfused) {
  std::vector<bool> moderate;
  for (ValueId v = 0; v < graph.value_count(); ++v) {
    bool all = true;
    if (const auto producer = graph.producer(v)) {
      for (ValueId in : graph.nodes()[static_cast<size_t>(*producer)].inputs)
        all = all && moderate[static_cast<size_t>(in)];
    }
    moderate.push_back(all && is_moderate(v, graph.type(v).dtype, own, unfused));
  }
  return moderate;
}

// Compares every region's outputs in turn; `want` gives what a value must be, or nothing to leave it out. The
// sign of zero and the payload of NaN do not count.
template <class Want>
MetamorphicCheck compare(Disagreement::Kind kind, const Plan& plan, const Trace& got, Want want) {
  MetamorphicCheck check;
  for (size_t r = 0; r < plan.regions.size(); ++r) {
    for (ValueId v : plan.regions[r].outputs) {
      const std::optional<std::vector<double>> wanted = want(v);
      if (!wanted) continue;
      const std::vector<double> found = to_f64(*got.values[static_cast<size_t>(v)]);
      check.compared += static_cast<int64_t>(found.size());
      for (size_t i = 0; i < found.size(); ++i) {
        const double x = found[i], y = (*wanted)[i];
        if (x == y || (std::isnan(x) && std::isnan(y))) continue;
        check.broken = {kind, r, v, static_cast<int64_t>(i), y, x};
        return check;
      }
    }
  }
  return check;
}

// "axis 0 of x: what was at place 7 is at place 3", of the element's place along the axis; "axis 0 of x"
// where its value does not have the axis.
std::string moved_text(const Graph& graph, const Exchange& exchange, ValueId value, int64_t element,
                       const std::vector<int64_t>& places) {
  std::string text;
  for (ValueId v = 0; v < std::ssize(graph.inputs()) && text.empty(); ++v) {
    const int axis = exchange.axes[static_cast<size_t>(v)];
    if (axis >= 0) text = "axis " + std::to_string(axis) + " of " + graph.name(v);
  }
  const int own = exchange.axes[static_cast<size_t>(value)];
  if (own < 0) return text;
  const auto to = unravelled(element, graph.type(value).shape)[static_cast<size_t>(own)];
  return text + ": what was at place " + std::to_string(places[static_cast<size_t>(to)]) + " is at place " +
         std::to_string(to);
}

std::span<const TensorPtr> inputs_of(const Graph& graph, const Trace& trace) {
  return std::span(trace.values).first(graph.inputs().size());
}

}  // namespace

Inputs scaled_inputs(const Graph& graph, std::span<const TensorPtr> inputs, const Scaling& scaling) {
  Inputs result;
  for (size_t i = 0; i < graph.inputs().size(); ++i)
    result.push_back(std::make_shared<const Tensor>(scaled(*inputs[i], scaling[i])));
  return result;
}

Inputs exchanged_inputs(const Graph& graph, std::span<const TensorPtr> inputs, const Exchange& exchange,
                        const std::vector<int64_t>& places) {
  Inputs result(inputs.begin(), inputs.end());
  for (size_t i = 0; i < graph.inputs().size(); ++i) {
    if (exchange.axes[i] >= 0)
      result[i] = std::make_shared<const Tensor>(exchanged(*inputs[i], exchange.axes[i], places));
  }
  return result;
}

MetamorphicCheck check_scaling(const Plan& plan, const Graph& graph, const ScaledRuns& own,
                               const ScaledRuns& unfused, const Scaling& scaling) {
  const std::vector<bool> moderate = moderate_values(graph, own, unfused);
  using Wanted = std::optional<std::vector<double>>;
  return compare(Disagreement::Kind::scaling, plan, own.after, [&](ValueId v) -> Wanted {
    const auto at = static_cast<size_t>(v);
    if (!moderate[at]) return std::nullopt;
    std::vector<double> wanted = to_f64(*own.before.values[at]);
    const double factor = is_float(graph.type(v).dtype) ? std::ldexp(1.0, scaling[at]) : 1;
    for (double& x : wanted) x *= factor;
    return wanted;
  });
}

MetamorphicCheck check_exchange(Program& program, const Graph& graph, const Trace& before,
                                const Exchange& exchange, const std::vector<int64_t>& places) {
  const Trace after = program.run(exchanged_inputs(graph, inputs_of(graph, before), exchange, places));
  using Wanted = std::optional<std::vector<double>>;
  const auto wanted = [&](ValueId v) {
    const auto at = static_cast<size_t>(v);
    const Tensor& value = *before.values[at];
    return exchange.axes[at] < 0 ? value : exchanged(value, exchange.axes[at], places);
  };
  auto check = compare(Disagreement::Kind::exchange, program.plan(), after,
                       [&](ValueId v) -> Wanted { return to_f64(wanted(v)); });
  if (Disagreement* broken = check.broken ? &*check.broken : nullptr) {
    const auto at = static_cast<size_t>(broken->value);
    broken->row = row_of(wanted(broken->value), *after.values[at], broken->element);
    broken->change = moved_text(graph, exchange, broken->value, broken->element, places);
  }
  return check;
}

BothRuns row_of(const Tensor& before, const Tensor& after, int64_t element) {
  constexpr int64_t kMost = 8, kBefore = 3;
  const Shape& shape = before.type.shape;
  const int64_t size = shape.empty() ? 1 : shape.back(), start = element - element % size;
  BothRuns row;
  row.first = std::max(start, std::min(element - kBefore, start + size - kMost));
  for (int64_t i = row.first; i < std::min(row.first + kMost, start + size); ++i) {
    row.before.push_back(before.value(i));
    row.after.push_back(after.value(i));
  }
  return row;
}

std::optional<Trace> run_unless_refused(Program& program, const Inputs& inputs) {
  try {
    return program.run(inputs);
  } catch (const WorkerError& error) {
    if (error.kind() != WorkerError::Kind::failed) throw;
    return std::nullopt;
  }
}

bool promises_all_positions(const Plan& plan) {
  return std::all_of(plan.regions.begin(), plan.regions.end(),
                     [](const Region& region) { return region.contract.arithmetic.position_invariant; });
}

bool promises_exchanged_bits(const Graph& graph, const Plan& plan) {
  const auto adds_rows = [&](int node) {
    const Op& op = graph.nodes()[static_cast<size_t>(node)].op;
    return std::holds_alternative<Softmax>(op) || std::holds_alternative<Sdpa>(op);
  };
  return std::none_of(plan.regions.begin(), plan.regions.end(), [&](const Region& region) {
    return region.contract.arithmetic.row_sums.any_order() &&
           std::any_of(region.nodes.begin(), region.nodes.end(), adds_rows);
  });
}

}  // namespace fusesmith::fuzz

#include "fuzz/run/metamorphic.h"

#include <algorithm>
#include <cmath>

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

// Far enough from the ends that products of two and sums of many stay there too.
bool is_moderate(const Tensor& x, int exponent) {
  if (!is_float(x.type.dtype)) return true;
  const double smallest = std::ldexp(1.0, std::max(min_exponent(x.type.dtype), -40));
  const double largest = std::min(max_finite(x.type.dtype), 0x1p40);
  for (int64_t i = 0; i < x.size(); ++i) {
    const double size = std::fabs(x.value(i)), after = std::ldexp(size, exponent);
    if (size == 0 || std::isinf(size)) continue;
    if (!(std::min(size, after) >= smallest && std::max(size, after) <= largest)) return false;
  }
  return true;
}

// By ValueId: whether the value and all that it is made of are moderate.
std::vector<bool> moderate_values(const Graph& graph, const Trace& trace, const Scaling& scaling) {
  std::vector<bool> moderate;
  for (ValueId v = 0; v < graph.value_count(); ++v) {
    const auto at = static_cast<size_t>(v);
    moderate.push_back(trace.values[at] && is_moderate(*trace.values[at], scaling[at]));
    if (const auto producer = graph.producer(v)) {
      for (ValueId in : graph.nodes()[static_cast<size_t>(*producer)].inputs)
        moderate[at] = moderate[at] && moderate[static_cast<size_t>(in)];
    }
  }
  return moderate;
}

// Bits, but for the payload of NaN.
bool same_element(const Tensor& a, const Tensor& b, int64_t i) {
  const auto size = static_cast<int64_t>(size_of(a.type.dtype));
  if (std::equal(a.bytes.begin() + i * size, a.bytes.begin() + (i + 1) * size, b.bytes.begin() + i * size))
    return true;
  return std::isnan(a.value(i)) && std::isnan(b.value(i));
}

// Compares every region's outputs in turn; `want` gives what a value must be, or nothing to leave it out.
template <class Want>
MetamorphicCheck compare(Disagreement::Kind kind, const Plan& plan, const Trace& got, Want want) {
  MetamorphicCheck check;
  for (size_t r = 0; r < plan.regions.size(); ++r) {
    for (ValueId v : plan.regions[r].outputs) {
      const std::optional<Tensor> wanted = want(v);
      if (!wanted) continue;
      const Tensor& found = *got.values[static_cast<size_t>(v)];
      check.compared += found.size();
      for (int64_t i = 0; i < found.size(); ++i) {
        if (same_element(found, *wanted, i)) continue;
        check.broken = {kind, r, v, i, wanted->value(i), found.value(i)};
        return check;
      }
    }
  }
  return check;
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

MetamorphicCheck check_scaling(Program& program, const Graph& graph, const Trace& before,
                               const Trace& unfused, const Scaling& scaling) {
  const std::vector<bool> moderate = moderate_values(graph, unfused, scaling);
  const Trace after = program.run(scaled_inputs(graph, inputs_of(graph, before), scaling));
  return compare(Disagreement::Kind::scaling, program.plan(), after, [&](ValueId v) -> std::optional<Tensor> {
    const auto at = static_cast<size_t>(v);
    if (!moderate[at]) return std::nullopt;
    return scaled(*before.values[at], scaling[at]);
  });
}

MetamorphicCheck check_exchange(Program& program, const Graph& graph, const Trace& before,
                                const Exchange& exchange, const std::vector<int64_t>& places) {
  check(exchange.bit_for_bit, "metamorphic: the exchange does not promise bits");
  const Trace after = program.run(exchanged_inputs(graph, inputs_of(graph, before), exchange, places));
  return compare(Disagreement::Kind::exchange, program.plan(), after,
                 [&](ValueId v) -> std::optional<Tensor> {
                   const auto at = static_cast<size_t>(v);
                   const Tensor& value = *before.values[at];
                   return exchange.axes[at] < 0 ? value : exchanged(value, exchange.axes[at], places);
                 });
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

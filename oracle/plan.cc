#include "oracle/plan.h"

#include <algorithm>

#include "graph/subgraph.h"

namespace fusesmith::oracle {
namespace {

bool contains(const auto& list, auto x) { return std::find(list.begin(), list.end(), x) != list.end(); }

bool any_differs(const std::vector<ValueId>& values, const Trace& first, const Trace& second) {
  return std::any_of(values.begin(), values.end(), [&](ValueId v) {
    const TensorPtr &a = first.values[static_cast<size_t>(v)], &b = second.values[static_cast<size_t>(v)];
    return a != b && !(a && b && *a == *b);
  });
}

// The disagreement at the first element that differs; empty if the tensors are equal.
std::optional<Disagreement> difference(Disagreement blank, const TensorPtr& a, const TensorPtr& b) {
  if (a == b || (a && b && *a == *b)) return std::nullopt;
  if (!a || !b) return blank;
  const auto at = std::mismatch(a->bytes.begin(), a->bytes.end(), b->bytes.begin()).first;
  blank.element = (at - a->bytes.begin()) / size_of(a->type.dtype);
  blank.first = a->value(blank.element);
  blank.second = b->value(blank.element);
  return blank;
}

// The region that overwrites this source: the one that computes its next value, else the first reader.
size_t writer_of(const Graph& graph, const Plan& plan, ValueId source) {
  const auto input_count = static_cast<int>(graph.inputs().size());
  const ValueId next =
      graph.is_state(source) ? graph.states()[static_cast<size_t>(source - input_count)].next : -1;
  size_t first_reader = plan.regions.size();
  for (size_t r = plan.regions.size(); r-- > 0;) {
    if (!contains(plan.regions[r].inputs, source)) continue;
    if (contains(plan.regions[r].outputs, next)) return r;
    first_reader = r;
  }
  return first_reader < plan.regions.size() ? first_reader : 0;
}

}  // namespace

std::string to_string(const Deviation& deviation) {
  switch (deviation.kind) {
    case Deviation::Kind::drop:
      return "drop " + deviation.value;
    case Deviation::Kind::move:
      return "move " + deviation.value;
    case Deviation::Kind::maybe:
      return "may drop " + deviation.value;
    case Deviation::Kind::add:
      return "add " + deviation.value;
    case Deviation::Kind::lower:
      return "lower " + deviation.value + " as " + deviation.lowering;
    case Deviation::Kind::maybe_lower:
      return "may lower " + deviation.value + " as " + deviation.lowering;
  }
  return deviation.value;
}

const Arithmetic& arithmetic_for(const Contract& contract, const Op& op) {
  if (contract.arithmetic_of.empty()) return contract.arithmetic;
  const auto own = contract.arithmetic_of.find(std::string(info(op).name));
  return own == contract.arithmetic_of.end() ? contract.arithmetic : own->second;
}

bool order_varies(const Graph& graph, const Region& region) {
  return std::any_of(region.nodes.begin(), region.nodes.end(), [&](int n) {
    return arithmetic_for(region.contract, graph.nodes()[static_cast<size_t>(n)].op).order_varies;
  });
}

Region make_region(const Graph& graph, std::vector<int> nodes) {
  Boundary boundary = boundary_of(graph, nodes);
  Region region;
  region.nodes = std::move(nodes);
  region.inputs = std::move(boundary.inputs);
  region.outputs = std::move(boundary.outputs);
  for (ValueId v : region.inputs) {
    if (graph.layout(v)) region.copied.push_back(v);
  }
  return region;
}

std::optional<Disagreement> first_difference(Disagreement::Kind kind, const Plan& plan, const Trace& first,
                                             const Trace& second) {
  bool any_may_differ = false;
  for (size_t r = 0; r < plan.regions.size(); ++r) {
    const Region& region = plan.regions[r];
    const bool may_differ =
        region.order_varies || (any_may_differ && any_differs(region.inputs, first, second));
    if (kind == Disagreement::Kind::repeat && may_differ) {
      any_may_differ = true;
      continue;
    }
    for (ValueId v : region.outputs) {
      const auto i = static_cast<size_t>(v);
      if (auto found = difference({kind, r, v, 0, 0, 0}, first.values[i], second.values[i])) return found;
    }
  }
  return std::nullopt;
}

bool differs(const Region& region, const Trace& first, const Trace& second) {
  return any_differs(region.outputs, first, second);
}

Disagreement written_around(const Graph& graph, const Plan& plan, ValueId source) {
  return {Disagreement::Kind::guard, writer_of(graph, plan, source), source, 0, 0, 0};
}

std::optional<Disagreement> overwritten_source(const Graph& graph, const Plan& plan,
                                               std::span<const TensorPtr> given, const Trace& trace) {
  for (size_t i = 0; i < given.size(); ++i) {
    const auto v = static_cast<ValueId>(i);
    const Disagreement blank{Disagreement::Kind::source, writer_of(graph, plan, v), v, 0, 0, 0};
    if (auto found = difference(blank, given[i], trace.values[i])) return found;
  }
  return std::nullopt;
}

}  // namespace fusesmith::oracle

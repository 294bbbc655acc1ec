// For tests: a worker that returns outputs alone, and may change what it computes.
#pragma once

#include <algorithm>
#include <functional>
#include <memory>

#include "fuzz/run/backends.h"

namespace fusesmith::fuzz {

// Changes values in a trace of all nodes, before those that are no outputs are left out.
using Change = std::function<void(const Graph&, Trace&)>;

// What `cpu` computes, as a worker that returns outputs alone. Unless a contract is given, it declares any
// rounding.
class Opaque : public Backend {
 public:
  explicit Opaque(Change change = {}, Contract contract = {.roundings = Roundings::any})
      : change_(std::move(change)), contract_(std::move(contract)) {}
  std::string_view name() const override { return "remote:opaque"; }
  std::string_view doc() const override { return "returns outputs alone"; }
  std::optional<std::string> unavailable() const override { return {}; }

  Result<std::unique_ptr<Program>> compile(const Graph& graph, const CompileOptions& options) const override {
    auto inner = find_backend("cpu")->compile(graph, options);
    if (!inner) return Problem{inner.problem()};
    return std::unique_ptr<Program>(std::make_unique<Whole>(graph, std::move(*inner), change_, contract_));
  }

 private:
  struct Whole : Program {
    Whole(const Graph& g, std::unique_ptr<Program> p, Change c, const Contract& contract)
        : graph(g), inner(std::move(p)), change(std::move(c)) {
      std::vector<int> nodes(graph.nodes().size());
      for (size_t i = 0; i < nodes.size(); ++i) nodes[i] = static_cast<int>(i);
      whole.regions.push_back(make_region(graph, nodes));
      std::erase_if(whole.regions[0].outputs, [&](ValueId v) { return !graph.is_observed(v); });
      whole.regions[0].contract = contract;
    }
    const Plan& plan() const override { return whole; }
    Trace run(std::span<const TensorPtr> inputs) override {
      Trace trace = inner->run(inputs);
      if (change) change(graph, trace);
      for (ValueId v = graph.source_count(); v < graph.value_count(); ++v) {
        if (!graph.is_observed(v)) trace.values[static_cast<size_t>(v)] = nullptr;
      }
      return trace;
    }
    std::optional<Disagreement> recheck(std::span<const TensorPtr>, const Trace&) override { return {}; }

    const Graph graph;
    std::unique_ptr<Program> inner;
    const Change change;
    Plan whole;
  };
  const Change change_;
  const Contract contract_;
};

}  // namespace fusesmith::fuzz

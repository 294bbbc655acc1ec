#include "backends/cpu/cpu_backend.h"

#include "backends/common/cpu_arithmetic.h"
#include "backends/common/run_node.h"
#include "backends/common/run_plan.h"

namespace fusesmith::backends {
namespace {

class CpuProgram : public Program, public Inspectable {
 public:
  CpuProgram(Graph graph, const CompileOptions& options)
      : graph_(std::move(graph)), products_(options.tf32 ? F32Products::tf32 : F32Products::ieee) {
    const int count = static_cast<int>(graph_.nodes().size());
    for (int node = 0; node < count; ++node) {
      plan_.regions.push_back(make_region(graph_, {node}));
      plan_.regions.back().contract.arithmetic =
          cpu_arithmetic_of(graph_.nodes()[static_cast<size_t>(node)].op);
      plan_.regions.back().contract.arithmetic.tf32 = options.tf32;
    }
  }

  const Plan& plan() const override { return plan_; }

  Trace run(std::span<const TensorPtr> inputs) override {
    return run_plan(graph_, plan_, inputs, layouts_, [&](const Region& region, std::span<TensorPtr> values) {
      for (int node : region.nodes) run_node(graph_, node, values, products_);
    });
  }

  std::optional<Disagreement> recheck(std::span<const TensorPtr> inputs, const Trace& trace) override {
    return repeat_plan(*this, graph_, inputs, trace, layouts_);
  }

  void run_region(size_t region, std::span<TensorPtr> values, Probe& probe) const override {
    for (int node : plan_.regions[region].nodes) run_node(graph_, node, values, products_, &probe);
  }

 private:
  Graph graph_;
  F32Products products_;
  LayoutRuns layouts_;
  Plan plan_;  // contracts: f32 accumulators, two-pass variance, no deviation
};

class CpuBackend : public Backend {
 public:
  std::string_view name() const override { return "cpu"; }
  std::string_view doc() const override {
    return "Unfused: one kernel for each op, rounded as in the graph. Needs no GPU.";
  }
  std::optional<std::string> unavailable() const override { return {}; }

  Result<std::unique_ptr<Program>> compile(const Graph& graph, const CompileOptions& options) const override {
    return std::unique_ptr<Program>(std::make_unique<CpuProgram>(graph, options));
  }
};

}  // namespace

const Backend& cpu_backend() {
  static const CpuBackend backend;
  return backend;
}

}  // namespace fusesmith::backends

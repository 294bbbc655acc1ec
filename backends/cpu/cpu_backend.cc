#include "backends/cpu/cpu_backend.h"

#include "backends/common/run_node.h"
#include "backends/common/run_plan.h"

namespace fusesmith {
namespace {

class CpuProgram : public Program, public Inspectable {
 public:
  explicit CpuProgram(Graph graph) : graph_(std::move(graph)) {
    const int count = static_cast<int>(graph_.nodes().size());
    for (int node = 0; node < count; ++node) plan_.regions.push_back(make_region(graph_, {node}));
  }

  const Plan& plan() const override { return plan_; }

  Trace run(std::span<const TensorPtr> inputs) override {
    return run_plan(graph_, plan_, inputs, [&](const Region& region, std::span<TensorPtr> values) {
      for (int node : region.nodes) run_node(graph_, node, values);
    });
  }

  std::optional<Disagreement> recheck(std::span<const TensorPtr> inputs, const Trace& trace) override {
    return repeat_plan(*this, inputs, trace);
  }

  void run_region(size_t region, std::span<TensorPtr> values, Probe& probe) const override {
    for (int node : plan_.regions[region].nodes) run_node(graph_, node, values, &probe);
  }

 private:
  Graph graph_;
  Plan plan_;  // contracts are the default: f32 accumulators, two-pass variance, no deviation
};

class CpuBackend : public Backend {
 public:
  std::string_view name() const override { return "cpu"; }
  std::string_view doc() const override {
    return "Unfused: a kernel per op, rounded where the graph says; needs no GPU.";
  }
  std::optional<std::string> unavailable() const override { return {}; }

  Result<std::unique_ptr<Program>> compile(const Graph& graph, const CompileOptions& options) const override {
    if (options.tf32) return Problem{"tf32 products are not supported by cpu"};
    return std::unique_ptr<Program>(std::make_unique<CpuProgram>(graph));
  }
};

}  // namespace

const Backend& cpu_backend() {
  static const CpuBackend backend;
  return backend;
}

}  // namespace fusesmith

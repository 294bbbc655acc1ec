#include "backends/cpu_fused/cpu_fused_backend.h"

#include <algorithm>
#include <map>
#include <set>

#include "backends/common/cpu_arithmetic.h"
#include "backends/common/floats.h"
#include "backends/common/run_node.h"
#include "backends/common/run_plan.h"
#include "backends/cpu_fused/run_fused.h"
#include "backends/cpu_fused/step_names.h"
#include "backends/process_faults.h"
#include "backends/rewrite/strided_operands.h"

namespace fusesmith::backends {

const PlacedTensor* RegionScope::place(ValueId value) const {
  const bool in_place = placed && std::find(strided.begin(), strided.end(), value) != strided.end();
  return in_place ? placed->find(value) : nullptr;
}

Floats RegionScope::floats(ValueId value) const {
  const PlacedTensor* const in_memory = place(value);
  return in_memory ? Floats(*in_memory) : Floats(at(value));
}

void run_fused(const Identity& identity, const RegionScope& scope, Tensor& out) {
  const Tensor& input = scope.at(identity.input);
  const bool scaled = scope.planted("dropout_scale_kept");
  if (!scaled && !detailed(scope.probe)) {
    out.bytes = input.bytes;
    return;
  }
  const Floats x(input);
  const StepValues shown(scope.probe, StepNames(scope).last(), 1, x.size());
  write_floats(out, [&](std::span<float> y) {
    for (size_t i = 0; i < y.size(); ++i) {
      const float read = shown.operand(0, i, x[i]);
      y[i] = shown.result(i, scaled ? read / 0.9f : read);
    }
  });
}

namespace {

bool is_batch_invariant(const Graph& graph, const FusedRegion& fused) {
  if (const auto* single = std::get_if<SingleNode>(&fused.op))
    return cpu_arithmetic_of(graph.nodes()[static_cast<size_t>(single->node)].op).batch_invariant;
  return !std::holds_alternative<FusedAttention>(fused.op);  // keys are split where there are few queries
}

class CpuFusedProgram final : public Program, public Inspectable {
 public:
  CpuFusedProgram(const Graph& graph, const CompileOptions& options)
      : graph_(graph),
        faults_(options.faults),
        products_(options.tf32 ? F32Products::tf32 : F32Products::ieee) {
    Arithmetic arithmetic = cpu_arithmetic();
    arithmetic.tf32 = options.tf32;
    for (FusedRegion& fused : rewrite(graph, options, arithmetic, &plan_.refusals)) {
      read_in_place(graph, faults_, fused);
      state_order<OnCpu>(fused.op, fused.region.contract.arithmetic);
      fused.region.contract.arithmetic.batch_invariant = is_batch_invariant(graph, fused);
      plan_.regions.push_back(std::move(fused.region));
      ops_.push_back(std::move(fused.op));
    }
  }

  const Plan& plan() const override { return plan_; }

  Trace run(std::span<const TensorPtr> inputs) override {
    run_process_fault(faults_, graph_);
    return run_plan(graph_, plan_, inputs, layouts_, [&](const Region& region, std::span<TensorPtr> values) {
      const FusedOp& op = ops_[static_cast<size_t>(&region - plan_.regions.data())];
      const auto* update = std::get_if<CacheUpdate>(&op);
      if (runs_on_first_state(op)) return run_on_first_state(region, op, values);
      run_op(region, op, values, layouts_.placed);
      if (update && update->old_value_lost) lose_old_state(*update, region, values);
    });
  }

  std::optional<Disagreement> recheck(std::span<const TensorPtr> inputs, const Trace& trace) override {
    return repeat_plan(*this, graph_, inputs, trace, layouts_);
  }

  void run_region(size_t region, std::span<TensorPtr> values, Probe& probe) const override {
    for (ValueId v : plan_.regions[region].outputs) values[static_cast<size_t>(v)] = nullptr;
    const PlacedSources placed(graph_, values, 0);
    if (runs_on_first_state(ops_[region]))
      return run_on_first_state(plan_.regions[region], ops_[region], values, &probe);
    run_op(plan_.regions[region], ops_[region], values, &placed, &probe);
  }

 private:
  void run_op(const Region& region, const FusedOp& op, std::span<TensorPtr> values,
              const PlacedSources* placed, Probe* probe = nullptr) const {
    if (const auto* single = std::get_if<SingleNode>(&op))
      return run_node(graph_, single->node, values, products_, probe);
    const RegionScope scope{
        {region.patterns.empty() ? std::string_view() : std::string_view(region.patterns.front()), faults_},
        values,
        products_,
        probe,
        probe ? &graph_ : nullptr,
        probe ? &region : nullptr,
        placed,
        region.strided};
    auto out = std::make_shared<Tensor>(graph_.type(region.outputs.back()));
    std::visit(
        [&](const auto& fused) {
          if constexpr (requires(Outputs outs) { run_fused(fused, scope, outs); })
            run_several(fused, region, scope, values);
          else if constexpr (!std::is_same_v<decltype(fused), const SingleNode&>)
            run_fused(fused, scope, *out);
        },
        op);
    // One output, unless an injected fault lets other nodes read inner values.
    for (ValueId v : region.outputs) {
      TensorPtr& value = values[static_cast<size_t>(v)];
      if (!value) value = out;
    }
  }

  bool runs_on_first_state(const FusedOp& op) const {
    return faults_.has("stale_state_in_second_step") && std::holds_alternative<CacheUpdate>(op);
  }

  // Injected fault: every step updates the buffer of the first step.
  void run_on_first_state(const Region& region, const FusedOp& op, std::span<TensorPtr> values,
                          Probe* probe = nullptr) const {
    const auto cache = static_cast<size_t>(std::get<CacheUpdate>(op).cache);
    std::vector<TensorPtr> seen(values.begin(), values.end());
    seen[cache] = first_states_.try_emplace(cache, values[cache]).first->second;
    run_op(region, op, seen, nullptr, probe);
    for (ValueId v : region.outputs) values[static_cast<size_t>(v)] = seen[static_cast<size_t>(v)];
  }

  // Injected fault: the memory of the old state, which others read later, holds the new one.
  static void lose_old_state(const CacheUpdate& update, const Region& region, std::span<TensorPtr> values) {
    values[static_cast<size_t>(update.cache)] = values[static_cast<size_t>(region.outputs.front())];
  }

  template <class Fused>
  void run_several(const Fused& fused, const Region& region, const RegionScope& scope,
                   std::span<TensorPtr> values) const {
    std::vector<std::shared_ptr<Tensor>> made;
    std::vector<Tensor*> outs;
    for (ValueId v : region.outputs) {
      made.push_back(std::make_shared<Tensor>(graph_.type(v)));
      outs.push_back(made.back().get());
    }
    run_fused(fused, scope, Outputs(outs));
    for (size_t i = 0; i < made.size(); ++i)
      values[static_cast<size_t>(region.outputs[i])] = std::move(made[i]);
  }

  Graph graph_;
  Faults faults_;
  F32Products products_;
  Plan plan_;
  LayoutRuns layouts_;
  std::vector<FusedOp> ops_;
  mutable std::map<size_t, TensorPtr> first_states_;  // by value; filled under an injected fault
};

class CpuFusedBackend final : public Backend {
 public:
  std::string_view name() const override { return "cpu_fused"; }
  std::string_view doc() const override {
    return "Fused: the rewritten graph, with the fused algorithms of GPU kernels on one CPU thread.";
  }
  std::optional<std::string> unavailable() const override { return {}; }
  Result<std::unique_ptr<Program>> compile(const Graph& graph, const CompileOptions& options) const override {
    return std::unique_ptr<Program>(std::make_unique<CpuFusedProgram>(graph, options));
  }
};

}  // namespace

const Backend& cpu_fused_backend() {
  static const CpuFusedBackend backend;
  return backend;
}

}  // namespace fusesmith::backends

#include "backends/cuda_fused/cuda_fused_backend.h"

#include "backends/cuda/emit/arithmetic.h"
#include "backends/cuda/emit/library_contract.h"
#include "backends/cuda/emit/program_builder.h"
#include "backends/cuda/emit/unsupported_case.h"
#include "backends/cuda/runtime/device_faults.h"
#include "backends/cuda/runtime/library_versions.h"
#include "backends/cuda/runtime/worker.h"
#include "backends/cuda_fused/emit/emit_fused.h"
#include "backends/rewrite/rewrite.h"

namespace fusesmith::backends {

namespace {

// Emits the region as one fused kernel; false if no kernel supports it.
bool emit_kernel(const FusedRegion& fused, const Faults& faults, ProgramBuilder& builder) {
  if (std::holds_alternative<SingleNode>(fused.op)) return false;
  const FusedScope scope{{fused.region.patterns.front(), faults}, builder.values()};
  const DeviceTensor& out = builder.values()[static_cast<size_t>(fused.region.outputs.back())];
  std::vector<DeviceTensor> outs;
  for (ValueId v : fused.region.outputs) outs.push_back(scope.at(v));
  return std::visit(
      [&](const auto& op) -> Emitted {
        if constexpr (std::is_same_v<decltype(op), const SingleNode&>)
          return false;
        else if constexpr (requires(DeviceTensors several) {
                             emit_fused(op, scope, several, builder.emitter());
                           })
          return emit_fused(op, scope, DeviceTensors(outs), builder.emitter());
        else
          return emit_fused(op, scope, out, builder.emitter());
      },
      fused.op);
}

// Emits every region, by its fused kernel or node by node, and adds to the plan what the kernels promise.
Result<std::unique_ptr<Program>> emit_regions(const Graph& graph, const std::vector<FusedRegion>& fused,
                                              Plan& plan, const CompileOptions& options) {
  ProgramBuilder builder(graph, plan, options.tf32);
  for (size_t r = 0; r < fused.size(); ++r) {
    builder.next_region();
    if (emit_kernel(fused[r], options.faults, builder)) {
      state_order<OnGpu>(fused[r].op, plan.regions[r].contract.arithmetic);
      const auto* update = std::get_if<CacheUpdate>(&fused[r].op);
      if (update && !update->old_value_lost)
        builder.update_in_place(plan.regions[r].outputs.front(), update->cache);
      continue;
    }
    builder.emit_nodes(plan.regions[r]);  // every contract allows single nodes
    declare_library_roundings(graph, plan.regions[r]);
  }
  return with_device_faults(builder.build(), graph, options.faults);
}

class CudaFusedBackend final : public Backend {
 public:
  std::string_view name() const override { return "cuda_fused"; }
  std::string_view doc() const override {
    return "Fused, on a GPU: the rewritten graph, with kernels for flash attention, GEMM epilogues, Welford "
           "normalisation and pointwise chains.";
  }
  std::optional<std::string> unavailable() const override { return why_no_device(); }
  Versions versions() const override { return cuda_library_versions(); }
  std::string device() const override { return cuda_device_text(); }

  Result<std::unique_ptr<Program>> compile(const Graph& graph, const CompileOptions& options) const override {
    Arithmetic arithmetic = cuda_arithmetic();
    arithmetic.tf32 = options.tf32;
    Plan plan;
    const std::vector<FusedRegion> fused = rewrite(graph, options, arithmetic, &plan.refusals);
    for (const FusedRegion& region : fused) plan.regions.push_back(region.region);
    return compile_or_refuse([&] { return emit_regions(graph, fused, plan, options); });
  }
};

}  // namespace

const Backend& cuda_fused_backend() {
  static const CudaFusedBackend backend;
  return backend;
}

}  // namespace fusesmith::backends

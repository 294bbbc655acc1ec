#include "backends/cuda/cuda_backend.h"

#include "backends/cuda/emit/arithmetic.h"
#include "backends/cuda/emit/library_contract.h"
#include "backends/cuda/emit/program_builder.h"
#include "backends/cuda/emit/unsupported_case.h"
#include "backends/cuda/runtime/library_versions.h"
#include "backends/cuda/runtime/worker.h"

namespace fusesmith::backends {
namespace {

class CudaBackend final : public Backend {
 public:
  std::string_view name() const override { return "cuda"; }
  std::string_view doc() const override {
    return "Unfused, on a GPU: products by cuBLAS, softmax and activations by cuDNN, one kernel for each "
           "other "
           "op.";
  }
  std::optional<std::string> unavailable() const override { return why_no_device(); }
  Versions versions() const override { return cuda_library_versions(); }
  std::string device() const override { return cuda_device_text(); }

  Result<std::unique_ptr<Program>> compile(const Graph& graph, const CompileOptions& options) const override {
    Plan plan;
    for (int node = 0; node < static_cast<int>(graph.nodes().size()); ++node) {
      plan.regions.push_back(make_region(graph, {node}));
      plan.regions.back().contract.arithmetic = cuda_arithmetic();
      plan.regions.back().contract.arithmetic.tf32 = options.tf32;
      declare_library_roundings(graph, plan.regions.back());
    }
    return compile_or_refuse([&]() -> Result<std::unique_ptr<Program>> {
      ProgramBuilder builder(graph, plan, options.tf32);
      for (const Region& region : plan.regions) {
        builder.next_region();
        builder.emit_nodes(region);
      }
      return builder.build();
    });
  }
};

}  // namespace

const Backend& cuda_backend() {
  static const CudaBackend backend;
  return backend;
}

}  // namespace fusesmith::backends

// What the norms on the device show of themselves is what they compute with.
#include "backends/cuda/cuda_backend.h"
#include "backends/cuda_fused/cuda_fused_backend.h"
#include "backends/inner_values_test.h"

namespace fusesmith::backends {
namespace {

TEST(CudaInnerValues, OfNormsAreWhatTheKernelsGoOnFrom) {
  ASSERT_FALSE(norms().empty());
  for (const Backend* backend : {&cuda_backend(), &cuda_fused_backend()}) {
    if (const auto why = backend->unavailable()) GTEST_SKIP() << *why;
    for (const Looked& looked : norms()) {
      SCOPED_TRACE(std::string(looked.name) + " on " + std::string(backend->name()));
      expect_used(*backend, case_of(looked.op), looked.inner);
    }
  }
}

}  // namespace
}  // namespace fusesmith::backends

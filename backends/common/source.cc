// Ops without inputs.
#include "backends/common/kernels.h"

namespace fusesmith::backends {

void compute(const Arange& op, Inputs, Outputs out, const KernelOptions&) {
  const std::span<int32_t> y = out[0].as<int32_t>();
  for (size_t i = 0; i < y.size(); ++i)
    y[i] = static_cast<int32_t>(op.start + static_cast<int64_t>(i) * op.step);
}

void compute(const CausalMask& op, Inputs, Outputs out, const KernelOptions&) {
  uint8_t* hidden = out[0].as<uint8_t>().data();
  for (int64_t row = 0; row < op.rows; ++row) {
    for (int64_t col = 0; col < op.cols; ++col) *hidden++ = op.hides(row, col);
  }
}

}  // namespace fusesmith::backends

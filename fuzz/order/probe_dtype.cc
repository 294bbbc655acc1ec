#include "fuzz/order/sum_kernel.h"

namespace fusesmith::fuzz {

ProbeDtype probe_dtype(graph::Dtype dtype) {
  switch (dtype) {
    case graph::Dtype::f16:  // the smallest and the largest power of two: 2^-24 and 2^15
      return {{0x1p15f, 0x1p-24f, 1}, int64_t{1} << 11};
    case graph::Dtype::bf16:
      return {{0x1p127f, 1, 1}, int64_t{1} << 8};
    // Accumulators may have as few as 13 fraction bits, while sums of accumulators are in f32: so many units
    // are less than half a unit in the last place of the large product, 2^16 and 2^30.
    case graph::Dtype::f8e4m3:
      return {{0x1p8f, 0x1p-9f, 0x1p8f, 0x1p-9f}, int64_t{1} << 9};
    case graph::Dtype::f8e5m2:
      return {{0x1p15f, 0x1p-14f, 0x1p15f, 0x1p-14f}, int64_t{1} << 12};
    default:
      return {{0x1p127f, 1, 1}, int64_t{1} << 24};
  }
}

}  // namespace fusesmith::fuzz

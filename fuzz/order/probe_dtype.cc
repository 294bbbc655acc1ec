#include "fuzz/order/sum_kernel.h"

namespace fusesmith::fuzz {

ProbeDtype probe_dtype(graph::Dtype dtype) {
  switch (dtype) {
    case graph::Dtype::f16:  // the smallest and the largest power of two: 2^-24 and 2^15
      return {{0x1p15f, 0x1p-24f, 1}, int64_t{1} << 11};
    case graph::Dtype::bf16:
      return {{0x1p127f, 1, 1}, int64_t{1} << 8};
    default:
      return {{0x1p127f, 1, 1}, int64_t{1} << 24};
  }
}

}  // namespace fusesmith::fuzz

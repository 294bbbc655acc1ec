// A float dtype as cuBLAS names it.
#pragma once

#include <library_types.h>

#include "graph/dtype.h"
#include "graph/result.h"

namespace fusesmith::backends {

inline cudaDataType_t cuda_type(Dtype dtype) {
  switch (dtype) {
    case Dtype::f16:
      return CUDA_R_16F;
    case Dtype::bf16:
      return CUDA_R_16BF;
    default:
      check(dtype == Dtype::f32, "cuda_type: not a float");
      return CUDA_R_32F;
  }
}

}  // namespace fusesmith::backends

// The dtypes of DLPack.
#pragma once

#include <fusesmith/plugin.h>

#include "graph/dtype.h"

namespace fusesmith::backends {

// A quantized dtype is the bytes of its codes: Debian's DLPack has no words for these.
inline DLDataType dl_type(Dtype dtype) {
  switch (dtype) {
    case Dtype::f32:
      return {kDLFloat, 32, 1};
    case Dtype::f16:
      return {kDLFloat, 16, 1};
    case Dtype::bf16:
      return {kDLBfloat, 16, 1};
    case Dtype::i32:
      return {kDLInt, 32, 1};
    case Dtype::boolean:
      return {FUSESMITH_PLUGIN_BOOL, 8, 1};
    default:
      return {kDLUInt, 8, 1};
  }
}

}  // namespace fusesmith::backends

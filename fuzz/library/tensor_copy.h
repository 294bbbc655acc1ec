// Tensors of others, as DLPack describes them, as tensors of ours.
#pragma once

#include <dlpack/dlpack.h>

#include <string>

#include "graph/result.h"
#include "graph/tensor.h"

namespace fusesmith::fuzz {

// Row-major, whatever the strides are. The problem is one line that begins with the name: memory of a device,
// another dtype or shape than this type, or a byte that no element may have.
Result<Tensor> copy_of(const DLTensor& given, const TensorType& type, const std::string& name);

}  // namespace fusesmith::fuzz

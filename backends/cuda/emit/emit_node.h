// One node alone on the device: products through cuBLAS, softmax and activations through cuDNN, small kernels
// for the rest. Each launch reads stored inputs as f32, computes in f32 and rounds once to the storage dtype;
// movement, select and source ops move or make bits. A composite op runs its expansion (graph/expand.h), node
// by node or as one pointwise program. One file per family; an op without an overload that no scalar function
// computes (backends/common/scalar_step.h) does not link.
#pragma once

#include "backends/cuda/runtime/launch.h"

namespace fusesmith::backends {

// Adds the launches of `op`. Inputs are of types that infer() accepts and give the types of `out`.
void emit_node(const Op& op, DeviceTensors in, DeviceTensors out, Emitter& emitter);

// One for every other op, and for those of cuDNN, in the file of its family.
#define FUSESMITH_EMIT(T) void emit(const T& op, DeviceTensors in, DeviceTensors out, Emitter& emitter);
FUSESMITH_FOR_EACH_OP(FUSESMITH_EMIT)
#undef FUSESMITH_EMIT

}  // namespace fusesmith::backends

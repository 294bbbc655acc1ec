// out = activation(gate) * value, element by element in f32, rounded at the store; the activation is rounded
// too if the graph casts it.
#pragma once

#include <cuda_runtime_api.h>

#include "backends/cuda/kernels/storage.h"
#include "backends/cuda_fused/device/activation.h"

namespace fusesmith::backends {

struct GateParams {
  const void *gate, *value;  // element (r, c) is at r * pitch + c
  void* out;                 // [rows, columns]
  int rows, columns;
  int gate_pitch, value_pitch;
  Storage gate_storage, storage;  // of the gate; of value and out
  KernelActivation activation;
  bool casts;
  Storage cast;
  bool vectors;             // one storage, no cast, and 16 bytes of a row are aligned everywhere
  bool tail_block_skipped;  // fault
};

cudaError_t launch_gate(const GateParams& params, cudaStream_t stream);

}  // namespace fusesmith::backends

// Kernels that choose elements bit for bit, and those that list integers and masks.
#pragma once

#include <cuda_runtime_api.h>

#include <cstdint>

#include "backends/cuda/kernels/index_space.h"
#include "backends/cuda/kernels/key_band.h"

namespace fusesmith::backends {

struct SelectOperand {
  const void* data;       // null: the constant, at every element
  int strides[kMaxAxes];  // in elements over the space
};

// to[i] = condition[i] ? chosen[i] : other[i] for every i of the space; `to` is contiguous.
struct Selection {
  IndexSpace space;
  SelectOperand condition;  // bool
  SelectOperand chosen, other;
  uint32_t constant;  // bits in its low bytes
  int element_bytes;  // 1, 2 or 4
  void* to;
};
cudaError_t launch_select(const Selection& selection, cudaStream_t stream);

// to[i] = start + i * step, below 2^31.
cudaError_t launch_arange(int* to, int count, int start, int step, cudaStream_t stream);

// to[row, col] = seen.hides(row, col); fewer than 2^31 elements.
cudaError_t launch_causal_mask(uint8_t* to, int rows, int cols, KeyBand seen, cudaStream_t stream);

}  // namespace fusesmith::backends

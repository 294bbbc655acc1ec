// The choice of an attention kernel: a pure function of the problem and the device's limits.
#pragma once

#include <optional>

#include "backends/cuda_fused/attention/attention.h"

namespace fusesmith::backends {

// The limits of a device on which the choice depends.
struct AttentionDevice {
  int processors = 0;
  int shared_bytes = 0;  // the most shared memory that a block can use
};

// The limits of the current device, or those of an H200 if there is no device, so that compiling needs none.
AttentionDevice attention_device();

// Tensor cores if q, k, v and probabilities have one 16-bit type, or f32 under tf32. A scaled 16-bit q or k
// has to stay in f32 by contract, so it needs the FMA units, which support everything.
AttentionUnit attention_unit(const AttentionParams& params);

// The fastest tile that fits into the device's shared memory; nothing if none does, or if depth or width is
// above kLargestHead.
std::optional<AttentionTile> choose_attention_tile(const AttentionParams& params,
                                                   const AttentionDevice& device);

}  // namespace fusesmith::backends

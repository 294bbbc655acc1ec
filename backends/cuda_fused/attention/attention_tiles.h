// Which attention kernel runs where: a choice that needs no device.
#pragma once

#include <optional>

#include "backends/cuda_fused/attention/attention.h"

namespace fusesmith::backends {

// What the choice depends on of a device.
struct AttentionDevice {
  int processors = 0;
  int shared_bytes = 0;  // most that a block may ask for
};

// Of the device that answers; where none does, of an H200, so that compiling needs no device.
AttentionDevice attention_device();

// The tensor cores for q, k, v and probabilities of one 16-bit type, or f32 under tf32; a scaled 16-bit q or
// k, which the contract keeps in f32, no longer fits. Else the FMA units, which take everything.
AttentionUnit attention_unit(const AttentionParams& params);

// The fastest tile whose shared memory the device has; nothing where there is none, or where depth or width
// is above kLargestHead.
std::optional<AttentionTile> choose_attention_tile(const AttentionParams& params,
                                                   const AttentionDevice& device);

}  // namespace fusesmith::backends

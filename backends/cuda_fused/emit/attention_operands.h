// The operands of attention kernels, as attention.h describes them.
#pragma once

#include <optional>

#include "backends/cuda_fused/attention/attention.h"
#include "backends/cuda_fused/emit/emit_fused.h"

namespace fusesmith::backends {

struct AttentionBuffers {
  Buffer q, k, v;
  std::optional<Buffer> mask{}, other{}, q_scale{}, k_scale{}, score_scale{};
};

// `columns` of each row are read.
AttentionMatrix matrix_of(const MatrixOperand& operand, int64_t columns, const FusedScope& scope);
// All but addresses, which `buffers` names, and what concerns results and faults.
AttentionParams attention_params(const FusedAttention& attention, const FusedScope& scope,
                                 AttentionBuffers& buffers);
void place(const AttentionBuffers& buffers, const LaunchContext& at, AttentionParams& params);

}  // namespace fusesmith::backends

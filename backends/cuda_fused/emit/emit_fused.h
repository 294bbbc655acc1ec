// The kernels behind fused regions: one overload per fused op, each in its own file. Each reads its stored
// operands as f32, keeps f32 inside, and rounds its result once to the type of `out`, unless the op says
// where it rounds more.
#pragma once

#include <string_view>

#include "backends/cuda/runtime/launch.h"
#include "backends/cuda_fused/device/activation.h"
#include "backends/rewrite/fused_op.h"
#include "oracle/contract.h"

namespace fusesmith::backends {

// What the emission of one region may see.
struct FusedScope {
  std::span<const DeviceTensor> values;  // by ValueId; those that the region reads are set
  std::string_view pattern;              // the one to blame for this region
  const Faults& faults;

  const DeviceTensor& at(ValueId value) const { return values[static_cast<size_t>(value)]; }
  // Whether a planted fault strikes here: it is on, and this region's pattern is the one to blame for it.
  bool planted(std::string_view fault) const;
};

// As the kernels name it.
KernelActivation kernel_activation(const Activation& activation);

// False, with nothing emitted, where no kernel takes this shape; the region then runs node by node. `out` is
// the region's output; ops that have several take `DeviceTensors outs`, all of them in graph order.
using Emitted = bool;

Emitted emit_fused(const FusedGemm& gemm, const FusedScope& scope, const DeviceTensor& out, Emitter& emitter);
Emitted emit_fused(const MergedProduct& merged, const FusedScope& scope, DeviceTensors outs,
                   Emitter& emitter);
Emitted emit_fused(const MultiplyReduce& reduction, const FusedScope& scope, const DeviceTensor& out,
                   Emitter& emitter);
// What its kernel promises beyond the pattern: IEEE products, added in trees.
void refine_contract(const MultiplyReduce& reduction, Contract& contract);
Emitted emit_fused(const FusedAttention& attention, const FusedScope& scope, const DeviceTensor& out,
                   Emitter& emitter);
// Its row's exponentials are added by lanes of their own.
void refine_contract(const FusedAttention& attention, Contract& contract);
Emitted emit_fused(const WelfordNorm& norm, const FusedScope& scope, const DeviceTensor& out,
                   Emitter& emitter);
Emitted emit_fused(const AddNorm& norm, const FusedScope& scope, DeviceTensors outs, Emitter& emitter);
Emitted emit_fused(const Gate& gate, const FusedScope& scope, const DeviceTensor& out, Emitter& emitter);
Emitted emit_fused(const PointwiseChain& chain, const FusedScope& scope, const DeviceTensor& out,
                   Emitter& emitter);
Emitted emit_fused(const Identity& identity, const FusedScope& scope, const DeviceTensor& out,
                   Emitter& emitter);
Emitted emit_fused(const ViewCopy& copy, const FusedScope& scope, const DeviceTensor& out, Emitter& emitter);
Emitted emit_fused(const TriangleProduct& triangle, const FusedScope& scope, const DeviceTensor& out,
                   Emitter& emitter);
Emitted emit_fused(const CacheUpdate& update, const FusedScope& scope, const DeviceTensor& out,
                   Emitter& emitter);

}  // namespace fusesmith::backends

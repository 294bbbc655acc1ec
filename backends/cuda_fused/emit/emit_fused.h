// The kernels behind fused regions: one overload per fused op, each in its own file. Each reads its stored
// operands as f32, keeps f32 inside, and rounds its result once to the type of `out`, unless the op says
// where it rounds more.
#pragma once

#include "backends/cuda/runtime/launch.h"
#include "backends/cuda_fused/device/activation.h"
#include "backends/region_faults.h"
#include "backends/rewrite/sum_order.h"

namespace fusesmith::backends {

// What the emission of one region may see.
struct FusedScope : RegionFaults {
  std::span<const DeviceTensor> values;  // by ValueId; those that the region reads are set

  const DeviceTensor& at(ValueId value) const { return values[static_cast<size_t>(value)]; }
};

struct OnGpu {};  // the tag of SumOrder

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
Emitted emit_fused(const FusedAttention& attention, const FusedScope& scope, const DeviceTensor& out,
                   Emitter& emitter);
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

SumOrder sum_order(const MultiplyReduce& reduction, OnGpu);
SumOrder sum_order(const FusedAttention& attention, OnGpu);

}  // namespace fusesmith::backends

// The emission of fused regions: one overload per fused op, each in its own file. Every kernel reads its
// stored operands as f32, computes in f32, and rounds its result once to the type of `out`; further roundings
// are documented with the op.
#pragma once

#include "backends/cuda/runtime/launch.h"
#include "backends/cuda_fused/device/activation.h"
#include "backends/region_faults.h"
#include "backends/rewrite/sum_order.h"

namespace fusesmith::backends {

// The region that is emitted: its pattern, the faults that are on, and its values.
struct FusedScope : RegionFaults {
  std::span<const DeviceTensor> values;  // by ValueId; those that the region reads are set

  const DeviceTensor& at(ValueId value) const { return values[static_cast<size_t>(value)]; }
};

struct OnGpu {};  // the tag of SumOrder

// The activation as kernels name it.
KernelActivation kernel_activation(const Activation& activation);

// False, with nothing emitted, if no kernel supports this case; the region then runs node by node. `out` is
// the region's output; ops with several outputs take `DeviceTensors outs`, in graph order.
using Emitted = bool;

Emitted emit_fused(const FusedGemm& gemm, const FusedScope& scope, const DeviceTensor& out, Emitter& emitter);
Emitted emit_fused(const MergedProduct& merged, const FusedScope& scope, DeviceTensors outs,
                   Emitter& emitter);
Emitted emit_fused(const MultiplyReduce& reduction, const FusedScope& scope, const DeviceTensor& out,
                   Emitter& emitter);
Emitted emit_fused(const FusedAttention& attention, const FusedScope& scope, const DeviceTensor& out,
                   Emitter& emitter);
Emitted emit_fused(const AttentionBackward& op, const FusedScope& scope, DeviceTensors outs,
                   Emitter& emitter);
Emitted emit_fused(const WelfordNorm& norm, const FusedScope& scope, const DeviceTensor& out,
                   Emitter& emitter);
Emitted emit_fused(const FusedLogSoftmax& op, const FusedScope& scope, const DeviceTensor& out,
                   Emitter& emitter);
Emitted emit_fused(const NormBackward& op, const FusedScope& scope, DeviceTensors outs, Emitter& emitter);
Emitted emit_fused(const SoftmaxGradient& op, const FusedScope& scope, const DeviceTensor& out,
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
Emitted emit_fused(const ScaledProduct& op, const FusedScope& scope, const DeviceTensor& out,
                   Emitter& emitter);
Emitted emit_fused(const Quantize& op, const FusedScope& scope, DeviceTensors outs, Emitter& emitter);
Emitted emit_fused(const DequantizedProduct& op, const FusedScope& scope, const DeviceTensor& out,
                   Emitter& emitter);

SumOrder sum_order(const MultiplyReduce& reduction, OnGpu);
SumOrder sum_order(const FusedAttention& attention, OnGpu);
SumOrder sum_order(const AttentionBackward& op, OnGpu);
SumOrder sum_order(const WelfordNorm& norm, OnGpu);
SumOrder sum_order(const FusedLogSoftmax& op, OnGpu);
SumOrder sum_order(const SoftmaxGradient& op, OnGpu);
SumOrder sum_order(const AddNorm& norm, OnGpu);
SumOrder sum_order(const ScaledProduct& op, OnGpu);
SumOrder sum_order(const Quantize& op, OnGpu);
SumOrder sum_order(const DequantizedProduct& op, OnGpu);

}  // namespace fusesmith::backends

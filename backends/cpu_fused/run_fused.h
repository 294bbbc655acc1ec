// The kernels behind fused regions: one overload per fused op, each in its own file. Each reads its stored
// operands as f32 and rounds its result once, to the type of `out`, which is allocated.
#pragma once

#include <span>
#include <string_view>

#include "backends/common/floats.h"
#include "backends/common/tf32.h"
#include "backends/inner_values.h"
#include "backends/region_faults.h"
#include "backends/rewrite/sum_order.h"
#include "oracle/plan.h"

namespace fusesmith::backends {

// What a kernel may see while a region runs.
struct RegionScope : RegionFaults {
  std::span<const TensorPtr> values;  // by ValueId
  F32Products products = F32Products::ieee;
  Probe* probe = nullptr;  // to show inner values to
  // For the names of inner values. Null without a probe.
  const Graph* graph = nullptr;
  const Region* region = nullptr;
  // The inputs that the region reads by the strides of their layouts; null if there are none.
  const PlacedSources* placed = nullptr;
  std::span<const ValueId> strided = {};

  // Dense.
  const Tensor& at(ValueId value) const { return *values[static_cast<size_t>(value)]; }

  // For operands that the op reads by strides: null if it is dense, and its elements from element 0 on.
  const PlacedTensor* place(ValueId value) const;
  Floats floats(ValueId value) const;
  template <class T>
  const T* elements(ValueId value) const {
    const PlacedTensor* const in_memory = place(value);
    return in_memory ? reinterpret_cast<const T*>(in_memory->elements()) : at(value).as<T>().data();
  }
};

struct OnCpu {};  // the tag of SumOrder

// All outputs of a region, in graph order, for the ops that have several.
using Outputs = std::span<Tensor* const>;

void run_fused(const FusedGemm& gemm, const RegionScope& scope, Tensor& out);
void run_fused(const MergedProduct& merged, const RegionScope& scope, Outputs outs);
void run_fused(const MultiplyReduce& reduction, const RegionScope& scope, Tensor& out);
void run_fused(const FusedAttention& attention, const RegionScope& scope, Tensor& out);
void run_fused(const AttentionBackward& op, const RegionScope& scope, Outputs outs);
void run_fused(const WelfordNorm& norm, const RegionScope& scope, Tensor& out);
void run_fused(const FusedLogSoftmax& op, const RegionScope& scope, Tensor& out);
void run_fused(const NormBackward& op, const RegionScope& scope, Outputs outs);
void run_fused(const SoftmaxGradient& op, const RegionScope& scope, Tensor& out);
void run_fused(const AddNorm& norm, const RegionScope& scope, Outputs outs);
void run_fused(const Gate& gate, const RegionScope& scope, Tensor& out);
void run_fused(const PointwiseChain& chain, const RegionScope& scope, Tensor& out);
void run_fused(const Identity& identity, const RegionScope& scope, Tensor& out);
void run_fused(const ViewCopy& copy, const RegionScope& scope, Tensor& out);
void run_fused(const TriangleProduct& triangle, const RegionScope& scope, Tensor& out);
void run_fused(const CacheUpdate& update, const RegionScope& scope, Tensor& out);
void run_fused(const ScaledProduct& op, const RegionScope& scope, Tensor& out);
void run_fused(const Quantize& op, const RegionScope& scope, Outputs outs);
void run_fused(const DequantizedProduct& op, const RegionScope& scope, Tensor& out);

SumOrder sum_order(const FusedGemm& gemm, OnCpu);
SumOrder sum_order(const MergedProduct& merged, OnCpu);
SumOrder sum_order(const MultiplyReduce& reduction, OnCpu);
SumOrder sum_order(const FusedAttention& attention, OnCpu);

}  // namespace fusesmith::backends

// One node alone on the device: products through cuBLAS, softmax and activations through cuDNN, small kernels
// for the rest. Each launch reads stored inputs as f32, computes in f32 and rounds once to the storage dtype;
// movement, select and source ops move or make bits. A composite op runs its expansion (graph/expand.h), so
// that it equals that expansion bit for bit. One file per family; an op without an overload does not compile.
#pragma once

#include "backends/cuda/runtime/launch.h"

namespace fusesmith::backends {

// Adds the launches of `op`. Inputs are of types that infer() accepts and give the types of `out`.
void emit_node(const Op& op, DeviceTensors in, DeviceTensors out, Emitter& emitter);

// product.cc: cuBLAS, f32 accumulators.
void emit(const Einsum& op, DeviceTensors in, DeviceTensors out, Emitter& emitter);
void emit(const Matmul& op, DeviceTensors in, DeviceTensors out, Emitter& emitter);
void emit(const Linear& op, DeviceTensors in, DeviceTensors out, Emitter& emitter);

// emit_pointwise.cc: one-step programs of pointwise.cu
void emit(const Add& op, DeviceTensors in, DeviceTensors out, Emitter& emitter);
void emit(const Sub& op, DeviceTensors in, DeviceTensors out, Emitter& emitter);
void emit(const Mul& op, DeviceTensors in, DeviceTensors out, Emitter& emitter);
void emit(const Div& op, DeviceTensors in, DeviceTensors out, Emitter& emitter);
void emit(const Maximum& op, DeviceTensors in, DeviceTensors out, Emitter& emitter);
void emit(const Scale& op, DeviceTensors in, DeviceTensors out, Emitter& emitter);
void emit(const Gelu& op, DeviceTensors in, DeviceTensors out, Emitter& emitter);
void emit(const Exp& op, DeviceTensors in, DeviceTensors out, Emitter& emitter);
void emit(const Sqrt& op, DeviceTensors in, DeviceTensors out, Emitter& emitter);
void emit(const Rsqrt& op, DeviceTensors in, DeviceTensors out, Emitter& emitter);
void emit(const Softcap& op, DeviceTensors in, DeviceTensors out, Emitter& emitter);
void emit(const Cast& op, DeviceTensors in, DeviceTensors out, Emitter& emitter);

// emit_cudnn.cc
void emit(const Relu& op, DeviceTensors in, DeviceTensors out, Emitter& emitter);
void emit(const Silu& op, DeviceTensors in, DeviceTensors out, Emitter& emitter);
void emit(const Sigmoid& op, DeviceTensors in, DeviceTensors out, Emitter& emitter);
void emit(const Tanh& op, DeviceTensors in, DeviceTensors out, Emitter& emitter);
void emit(const Softmax& op, DeviceTensors in, DeviceTensors out, Emitter& emitter);
void emit(const Dropout& op, DeviceTensors in, DeviceTensors out, Emitter& emitter);

// emit_norms.cc: norms.cu
void emit(const LayerNorm& op, DeviceTensors in, DeviceTensors out, Emitter& emitter);
void emit(const RmsNorm& op, DeviceTensors in, DeviceTensors out, Emitter& emitter);
void emit(const GroupNorm& op, DeviceTensors in, DeviceTensors out, Emitter& emitter);

// emit_reductions.cc: reduce.cu
void emit(const ReduceSum& op, DeviceTensors in, DeviceTensors out, Emitter& emitter);
void emit(const ReduceMean& op, DeviceTensors in, DeviceTensors out, Emitter& emitter);
void emit(const ReduceMax& op, DeviceTensors in, DeviceTensors out, Emitter& emitter);
void emit(const VarMean& op, DeviceTensors in, DeviceTensors out, Emitter& emitter);

// emit_rope.cc: rope.cu
void emit(const Rope& op, DeviceTensors in, DeviceTensors out, Emitter& emitter);

// emit_movement.cc: movement.cu, elements are moved bit for bit
void emit(const Reshape& op, DeviceTensors in, DeviceTensors out, Emitter& emitter);
void emit(const Permute& op, DeviceTensors in, DeviceTensors out, Emitter& emitter);
void emit(const Unsqueeze& op, DeviceTensors in, DeviceTensors out, Emitter& emitter);
void emit(const Squeeze& op, DeviceTensors in, DeviceTensors out, Emitter& emitter);
void emit(const BroadcastTo& op, DeviceTensors in, DeviceTensors out, Emitter& emitter);
void emit(const Slice& op, DeviceTensors in, DeviceTensors out, Emitter& emitter);
void emit(const Flip& op, DeviceTensors in, DeviceTensors out, Emitter& emitter);
void emit(const Gather& op, DeviceTensors in, DeviceTensors out, Emitter& emitter);

// emit_slices.cc: copies of runs of slices along one axis
void emit(const Chunk& op, DeviceTensors in, DeviceTensors out, Emitter& emitter);
void emit(const Concat& op, DeviceTensors in, DeviceTensors out, Emitter& emitter);
void emit(const Roll& op, DeviceTensors in, DeviceTensors out, Emitter& emitter);
void emit(const IndexCopy& op, DeviceTensors in, DeviceTensors out, Emitter& emitter);

// emit_select.cc: select.cu, elements are chosen or listed bit for bit
void emit(const Where& op, DeviceTensors in, DeviceTensors out, Emitter& emitter);
void emit(const MaskedFill& op, DeviceTensors in, DeviceTensors out, Emitter& emitter);
void emit(const Arange& op, DeviceTensors in, DeviceTensors out, Emitter& emitter);
void emit(const CausalMask& op, DeviceTensors in, DeviceTensors out, Emitter& emitter);

// emit_node.cc
void emit(const Sdpa& op, DeviceTensors in, DeviceTensors out, Emitter& emitter);

}  // namespace fusesmith::backends

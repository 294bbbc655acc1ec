// The kernels behind run_node: one overload per op, chosen by the op's type. `out` is allocated with its
// type; inputs have been checked by infer(). Kernels with inner values take a probe.
#pragma once

#include <span>

#include "backends/common/tf32.h"
#include "backends/inner_values.h"
#include "graph/op.h"

namespace fusesmith::backends {

using Inputs = std::span<const Tensor* const>;
using Outputs = std::span<Tensor>;

// product.cc: sums of products in an f32 accumulator, in any order.
void compute(const Einsum& op, Inputs in, Outputs out, F32Products products, Probe* probe);  // product
void compute(const Matmul& op, Inputs in, Outputs out, F32Products products, Probe* probe);  // product
void compute(const Linear& op, Inputs in, Outputs out, F32Products products, Probe* probe);  // product

// pointwise.cc
void compute(const Add& op, Inputs in, Outputs out);
void compute(const Sub& op, Inputs in, Outputs out);
void compute(const Mul& op, Inputs in, Outputs out);
void compute(const Div& op, Inputs in, Outputs out);
void compute(const Maximum& op, Inputs in, Outputs out);
void compute(const Scale& op, Inputs in, Outputs out);
void compute(const Relu& op, Inputs in, Outputs out);
void compute(const Gelu& op, Inputs in, Outputs out);
void compute(const Silu& op, Inputs in, Outputs out);
void compute(const Sigmoid& op, Inputs in, Outputs out);
void compute(const Tanh& op, Inputs in, Outputs out);
void compute(const Exp& op, Inputs in, Outputs out);
void compute(const Sqrt& op, Inputs in, Outputs out);
void compute(const Rsqrt& op, Inputs in, Outputs out);
void compute(const Softcap& op, Inputs in, Outputs out);
void compute(const Cast& op, Inputs in, Outputs out);

// softmax.cc, norms.cc, reductions.cc
void compute(const Softmax& op, Inputs in, Outputs out, Probe* probe);    // scores, maximum, sum
void compute(const LayerNorm& op, Inputs in, Outputs out, Probe* probe);  // mean, rstd
void compute(const RmsNorm& op, Inputs in, Outputs out, Probe* probe);    // rstd
void compute(const GroupNorm& op, Inputs in, Outputs out, Probe* probe);  // mean, rstd
void compute(const ReduceSum& op, Inputs in, Outputs out);
void compute(const ReduceMean& op, Inputs in, Outputs out);
void compute(const ReduceMax& op, Inputs in, Outputs out);
void compute(const VarMean& op, Inputs in, Outputs out);

// movement.cc: elements are moved bit for bit.
void compute(const Dropout& op, Inputs in, Outputs out);
void compute(const Reshape& op, Inputs in, Outputs out);
void compute(const Permute& op, Inputs in, Outputs out);
void compute(const Unsqueeze& op, Inputs in, Outputs out);
void compute(const Squeeze& op, Inputs in, Outputs out);
void compute(const BroadcastTo& op, Inputs in, Outputs out);
void compute(const Slice& op, Inputs in, Outputs out);
void compute(const Chunk& op, Inputs in, Outputs out);
void compute(const Concat& op, Inputs in, Outputs out);
void compute(const Roll& op, Inputs in, Outputs out);
void compute(const Flip& op, Inputs in, Outputs out);
void compute(const Gather& op, Inputs in, Outputs out);
void compute(const IndexCopy& op, Inputs in, Outputs out);

// rope.cc
void compute(const Rope& op, Inputs in, Outputs out);

// select.cc: elements are chosen bit for bit.
void compute(const Where& op, Inputs in, Outputs out);
void compute(const MaskedFill& op, Inputs in, Outputs out);

// source.cc
void compute(const Arange& op, Inputs in, Outputs out);
void compute(const CausalMask& op, Inputs in, Outputs out);

// composite.cc
void compute(const Sdpa& op, Inputs in, Outputs out, F32Products products, Probe* probe);  // of its softmax

}  // namespace fusesmith::backends

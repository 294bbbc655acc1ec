// The contract of attention kernels with a running maximum.
#pragma once

#include "graph/graph.h"
#include "oracle/contract.h"

namespace fusesmith::oracle {

// Declares how such a kernel treats its probabilities, the inner value `p`: rounded to `p_dtype`, if it has
// 16 bits, before their normalisation, and rescaled up to `rescales` times, whenever the running maximum
// moves. The inner value `product` (with v) is summed before it is normalised. `exp` is Arithmetic::exp.
void declare_online_softmax(Contract& contract, const std::string& p, const std::string& product,
                            Dtype p_dtype, double rescales, double exp);

// The same for a node of op sdpa with results of `dtype`, whose scores also stay in f32.
void declare_online_attention(Contract& contract, const Node& node, Dtype dtype, double rescales, double exp);
// How often a kernel of unknown blocks may rescale: once for each block of 16 keys.
double most_rescales(const Graph& graph, const Node& attention);

}  // namespace fusesmith::oracle

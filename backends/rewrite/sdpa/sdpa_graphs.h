// Pieces of attention graphs, for the examples and near misses of sdpa.
#pragma once

#include <cmath>
#include <limits>

#include "backends/rewrite/matching/example_graph.h"

namespace fusesmith::backends {

inline constexpr double kHidden = -std::numeric_limits<double>::infinity();

struct Qkv {
  ValueId q = -1, k = -1, v = -1;
};

inline Qkv qkv(ExampleGraph& g, const ExampleDims& d) {
  return {g.tensor("q", {d.batch, d.heads, d.rows, d.depth}),
          g.tensor("k", {d.batch, d.heads, d.cols, d.depth}),
          g.tensor("v", {d.batch, d.heads, d.cols, d.width})};
}

// q k^T / sqrt(depth).
inline ValueId scaled_scores(ExampleGraph& g, const Qkv& in, const ExampleDims& d) {
  return g.node(Scale{1 / std::sqrt(static_cast<double>(d.depth))}, g.node(Matmul{false, true}, in.q, in.k));
}

// As qkv, but each head of k and v serves `group` neighbouring heads of q.
inline Qkv grouped_qkv(ExampleGraph& g, const ExampleDims& d, int64_t group) {
  return {g.tensor("q", {d.batch, d.heads * group, d.rows, d.depth}),
          g.tensor("k", {d.batch, d.heads, d.cols, d.depth}),
          g.tensor("v", {d.batch, d.heads, d.cols, d.width})};
}

// [batch, heads, cols, n] -> [batch, heads group, cols, n], each head `group` times in a row.
inline ValueId repeat_heads(ExampleGraph& g, ValueId value, int64_t group) {
  const Shape shape = g.shape(value);
  const ValueId alone = g.node(Unsqueeze{2}, value);
  const ValueId repeated = g.node(BroadcastTo{{shape[0], shape[1], group, shape[2], shape[3]}}, alone);
  return g.node(Reshape{{shape[0], shape[1] * group, shape[2], shape[3]}}, repeated);
}

// The whole graph: softmax over the keys, then the product with v.
inline Graph attend(ExampleGraph& g, ValueId scores, const Qkv& in) {
  return g.outputs(g.node(Matmul{}, g.node(Softmax{}, scores), in.v));
}

}  // namespace fusesmith::backends

// The definition of composite ops as graphs of simpler ops, which the reference evaluates and the unfused
// executors run: of ops that a formula defines (graph/formula.h), and of sdpa.
#pragma once

#include <memory>
#include <new>

#include "graph/graph.h"

namespace fusesmith::graph {

// How many scores an sdpa has with inputs of these types: every query with every key.
int64_t score_count(TypeSpan inputs);
// More of them are refused; more than kMaxElements can only be computed and judged in parts.
inline constexpr int64_t kMaxScores = int64_t{1} << 36;

// Thrown where inner values would have to be held that are more than kMaxElements.
struct InnerValuesTooLarge : std::bad_alloc {
  const char* what() const noexcept override {
    return "the scores of an attention are more than 2^27 elements, which cannot be held at once";
  }
};

// A graph with the op's inputs and outputs, in order; null if the op is not composite. The names of its nodes
// are the names of the op's inner values ("scores", "scaled", "p", ...). The latest ones of each thread are
// kept, since types, cost, magnitudes and results of a node all follow from its expansion. May throw
// InnerValuesTooLarge.
std::shared_ptr<const Graph> expansion(const Op& op, TypeSpan inputs);

// Whether a formula defines the op.
bool is_defined(const Op& op);

}  // namespace fusesmith::graph

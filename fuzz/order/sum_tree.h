// SumTree: in which order a kernel adds the terms of one sum. It has operations on partial sums and terms,
// without their arithmetic (node_arithmetic.h).
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "graph/namespaces.h"

namespace fusesmith::fuzz {

// The terms first, first + step, ..., `count` of them.
struct TermRun {
  int64_t first = 0, step = 1, count = 1;
  bool operator==(const TermRun&) const = default;
};

// A chain of operations, each of which adds `group` further terms to the sum so far; the last may have fewer.
// The first one also adds the sums of the children, and without children it has at least two operands.
// Without terms: one operation that adds the children.
struct SumNode {
  std::vector<int> children;  // earlier nodes
  std::vector<TermRun> terms;
  int64_t group = 1;
  bool rounds_products = false;  // each product is rounded to the accumulator's dtype before it is added
  bool operator==(const SumNode&) const = default;

  int64_t term_count() const;
  std::vector<int64_t> term_list() const;
  // The number of terms that the first operation adds.
  int64_t first_terms() const;
};

// The root is the last node, and each other node is the child of one node. Equal trees are equal values: what
// compress() (raw_tree.h) makes.
struct SumTree {
  std::vector<SumNode> nodes;
  bool operator==(const SumTree&) const = default;

  int64_t term_count() const;
  // Whether no operation has more than two operands.
  bool is_binary() const;
  // The largest number of operations that a term passes.
  int64_t height() const;
};

// "8 interleaved chains of 64 terms each, added pairwise": one line without an end.
std::string to_string(const SumTree& tree);

}  // namespace fusesmith::fuzz

// RawTree: a summation tree as probes show it, one node for each operation; and its compact form.
#pragma once

#include <vector>

#include "fuzz/order/sum_tree.h"

namespace fusesmith::fuzz {

struct RawTree {
  struct Node {
    std::vector<int64_t> terms;
    std::vector<int> nodes;
  };
  std::vector<Node> nodes;
  int root = 0;
};

// What else is known of each term.
struct ProductUse {
  bool rounded = false;  // before it is added; without effect where products are exact
};

// Operations in chains become one node. `uses` has one entry for each term.
SumTree compress(const RawTree& tree, const std::vector<ProductUse>& uses);

// One node for each operation, in the order in which they run.
RawTree expand(const SumTree& tree);

// Nodes so that each comes after those that it adds.
std::vector<int> bottom_up(const RawTree& tree);

}  // namespace fusesmith::fuzz

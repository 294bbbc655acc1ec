// Reveals the summation tree of a kernel by probes, as FPRev does (arXiv 2411.00442): the units that survive
// between a large number and its negative are those outside the smallest subtree that has both.
#pragma once

#include <cstdint>
#include <string>

#include "fuzz/order/raw_tree.h"
#include "fuzz/order/sum_kernel.h"
#include "graph/result.h"

namespace fusesmith::fuzz {

struct RevealOptions {
  // Other probes for the same tree: random terms in place of first ones, in other rows of the product.
  bool other_probes = false;
  uint64_t seed = 1;
  int64_t most_probes = int64_t{1} << 20;
};

struct Revealed {
  SumTree tree;
  int64_t probes = 0, calls = 0;
};

// The problem says why there is no tree. Products of f32 are also probed for whether they are rounded.
graph::Result<Revealed> reveal(SumKernel& kernel, const RevealOptions& options = {});

}  // namespace fusesmith::fuzz

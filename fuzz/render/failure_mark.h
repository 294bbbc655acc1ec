// What a picture of a graph marks: the nodes of a failing region, and the one value that is furthest out of
// bounds.
#pragma once

#include <set>
#include <string>

#include "graph/graph.h"

namespace fusesmith::fuzz {

struct FailureMark {
  std::set<int> region;   // nodes
  ValueId worst = -1;     // -1: no element is out of bounds
  std::string note = {};  // one line: "defect in region 'out' (sdpa) of cpu_fused"
};

}  // namespace fusesmith::fuzz

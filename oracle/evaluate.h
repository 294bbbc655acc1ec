// Evaluates the nodes of a region with the bounded reference, from the bits that the region received,
// under one reading of its inner roundings.
#pragma once

#include <map>
#include <set>
#include <string>
#include <vector>

#include "oracle/bounded.h"
#include "oracle/plan.h"
#include "oracle/reference_memo.h"

namespace fusesmith::oracle {

// A reading: which inner roundings are dropped, moved or added, with names as in Deviation::value. All other
// inner values are rounded as in the graph.
struct Reading {
  std::vector<Deviation> deviations;
};

// A value whose rounding a region may drop: computed, 16-bit, and read inside the region. If it is also an
// output, its readers may use the unrounded value, but the stored value is rounded in any reading.
struct InnerRounding {
  std::string value;
  Dtype dtype;
  bool is_explicit;  // made by a cast node from another dtype
};

// A region output before it is stored.
struct RegionOutput {
  ValueId value;
  BoundedPtr bounded;
  bool computed;        // its last node computes it, rather than moving or selecting elements
  bool copied = false;  // the region only moves values: even the sign of zero is preserved
};

// `memo`, if it is not null, has what earlier evaluations computed, and gets what this one computes.
std::vector<RegionOutput> evaluate(const Graph& graph, const Region& region, const Trace& trace,
                                   const Reading& reading, ReferenceMemo* memo = nullptr);

// Every inner rounding of the region, in evaluation order.
std::vector<InnerRounding> inner_roundings(const Graph& graph, const Region& region);

}  // namespace fusesmith::oracle

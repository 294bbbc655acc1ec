// Evaluates a region's nodes with the bounded reference, from the bits that the region got, under one reading
// of its inner roundings.
#pragma once

#include <map>
#include <set>
#include <string>
#include <vector>

#include "oracle/bounded.h"
#include "oracle/plan.h"

namespace fusesmith::oracle {

// How the inner roundings are read. Names as in Deviation::value.
struct Reading {
  std::vector<Deviation>
      deviations;  // dropped or moved; every other inner value is rounded as the graph says
};

// A value whose rounding a region may leave out: computed, 16-bit, and read inside the region. Where it is an
// output too, its readers may see it unrounded, but what is stored is rounded in any reading.
struct InnerRounding {
  std::string value;
  Dtype dtype;
  bool is_explicit;  // made by a cast node
};

// A region output before it stores, and how it was made.
struct RegionOutput {
  ValueId value;
  BoundedPtr bounded;
  bool computed;        // by its last node, rather than moved or chosen
  bool copied = false;  // the region only moves values: even the sign of a zero is kept
};

std::vector<RegionOutput> evaluate(const Graph& graph, const Region& region, const Trace& trace,
                                   const Reading& reading);

// Every inner rounding of the region, in evaluation order.
std::vector<InnerRounding> inner_roundings(const Graph& graph, const Region& region);

}  // namespace fusesmith::oracle

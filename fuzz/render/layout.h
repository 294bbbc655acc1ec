// Places for the boxes of a layered picture: every edge leads downwards, boxes of a layer stand side by side.
#pragma once

#include <string>
#include <utility>
#include <vector>

#include "graph/graph.h"

namespace fusesmith::fuzz {

struct LaidBox {
  double width = 0;  // given
  int layer = 0;     // given: 0 is on top
  double x = 0;      // found: its middle
};

struct LaidEdge {
  int from = 0, to = 0;              // boxes; from.layer < to.layer
  std::vector<double> through = {};  // found: x in each layer between both
};

// Orders the boxes of each layer so that few edges cross, and places them without overlap; x begins at 0.
// Returns the width of the picture.
double lay_out(std::vector<LaidBox>& boxes, std::vector<LaidEdge>& edges);

}  // namespace fusesmith::fuzz

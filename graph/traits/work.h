// The trait `work`: how much an op computes and how much memory it needs, by which the generator keeps cases
// small. An op names a rule, or has a member function of the same signature.
#pragma once

#include "graph/tensor.h"

namespace fusesmith::graph {

struct Work {
  int64_t operations = 0;  // multiply-adds; elements read or written where the op has no products
  int64_t elements = 0;    // held while the first output is computed, that output included
};

namespace work_rules {
Work per_output_element(TypeSpan inputs, const TensorType& output);
Work per_input_element(TypeSpan inputs, const TensorType& output);  // of input 0: reductions
}  // namespace work_rules

}  // namespace fusesmith::graph

#include "graph/traits/work.h"

namespace fusesmith::graph::work_rules {

Work per_output_element(TypeSpan, const TensorType& output) {
  return {element_count(output), element_count(output)};
}

Work per_input_element(TypeSpan inputs, const TensorType& output) {
  return {element_count(inputs[0]), element_count(output)};
}

}  // namespace fusesmith::graph::work_rules

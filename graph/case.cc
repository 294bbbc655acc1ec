#include "graph/case.h"

namespace fusesmith {

std::vector<Tensor> make_inputs(const Case& test_case, int64_t step) {
  std::vector<Tensor> tensors;
  for (const Input& input : test_case.graph.inputs()) {
    tensors.push_back(materialize(input.fill, input.type, test_case.seed, input.name, step));
  }
  return tensors;
}

}  // namespace fusesmith

#include <algorithm>

#include "minimizer/dimensions.h"
#include "minimizer/reductions/list.h"

namespace fusesmith {
namespace {

// The largest dimensions first; each to 1, 2, then ever closer to what it is, so that a threshold is found by
// bisection.
std::vector<Edits> propose(const Situation& now) {
  const Graph& graph = now.test_case.graph;
  std::vector<Dimension> dimensions = Dimensions(graph).all();
  std::stable_sort(dimensions.begin(), dimensions.end(),
                   [](const auto& a, const auto& b) { return a.size > b.size; });
  std::vector<Edits> proposals;
  for (const Dimension& d : dimensions) {
    std::vector<int64_t> sizes = {1, 2};
    for (int64_t step = d.size / 2; step > 0; step /= 2) sizes.push_back(d.size - step);
    int64_t last = 0;
    for (int64_t size : sizes) {
      if (size <= last || size >= d.size) continue;
      proposals.push_back({Resize{graph.name(d.value), d.axis, size}});
      last = size;
    }
  }
  return proposals;
}

}  // namespace

const Reduction kShrinkDimension{"shrink_dimension",
                                 "Make a dimension smaller, with all shapes that follow from it.", propose};

}  // namespace fusesmith

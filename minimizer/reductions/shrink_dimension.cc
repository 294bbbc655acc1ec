// The largest dimensions first. Each is set to 1, to 2, then to sizes closer and closer to its own, which
// finds a threshold by bisection. Then equal dimensions are changed together: some mistakes need square
// shapes.
#include <algorithm>

#include "minimizer/dimensions.h"
#include "minimizer/reductions.h"

namespace fusesmith::minimizer {
namespace {

std::vector<int64_t> smaller_sizes(int64_t size) {
  std::vector<int64_t> sizes;
  for (int64_t small : {int64_t{1}, int64_t{2}}) {
    if (small < size) sizes.push_back(small);
  }
  for (int64_t step = size / 2; step > 0; step /= 2) {
    if (sizes.empty() || size - step > sizes.back()) sizes.push_back(size - step);
  }
  return sizes;
}

std::vector<Edits> propose_shrink_dimension(const Situation& now) {
  const Graph& graph = now.test_case.graph;
  std::vector<Dimension> dimensions = Dimensions(graph).all();
  std::stable_sort(dimensions.begin(), dimensions.end(),
                   [](const auto& a, const auto& b) { return a.size > b.size; });
  std::vector<Edits> proposals;
  const auto shrink = [&](size_t begin, size_t end) {
    for (int64_t size : smaller_sizes(dimensions[begin].size)) {
      Edits edits;
      for (size_t i = begin; i < end; ++i) {
        edits.push_back(Resize{graph.name(dimensions[i].value), dimensions[i].axis, size});
      }
      proposals.push_back(std::move(edits));
    }
  };
  for (size_t i = 0; i < dimensions.size(); ++i) shrink(i, i + 1);
  for (size_t begin = 0, end = 0; begin < dimensions.size(); begin = end) {
    while (end < dimensions.size() && dimensions[end].size == dimensions[begin].size) ++end;
    if (end - begin > 1) shrink(begin, end);
  }
  return proposals;
}

}  // namespace

const Reduction kShrinkDimension{
    "shrink_dimension", "Make a dimension, or all of one size, smaller, with the shapes that follow.",
    propose_shrink_dimension, true, true};

}  // namespace fusesmith::minimizer

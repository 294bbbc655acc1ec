#include "oracle/reference/sums.h"

#include <algorithm>

namespace fusesmith::oracle::ref {

std::vector<int64_t> offsets(const Shape& sizes, const Shape& strides) {
  std::vector<int64_t> result{0};
  for (size_t d = 0; d < sizes.size(); ++d) {
    std::vector<int64_t> next;
    next.reserve(result.size() * static_cast<size_t>(sizes[d]));
    for (int64_t base : result) {
      for (int64_t i = 0; i < sizes[d]; ++i) next.push_back(base + i * strides[d]);
    }
    result = std::move(next);
  }
  return result;
}

ReducedRows reduced_rows(const Shape& shape, const std::vector<int>& axes) {
  const Shape own = strides_of(shape);
  Shape sizes[2], strides[2];  // kept, reduced
  for (size_t d = 0; d < shape.size(); ++d) {
    const bool reduced = std::find(axes.begin(), axes.end(), static_cast<int>(d)) != axes.end();
    sizes[reduced].push_back(shape[d]);
    strides[reduced].push_back(own[d]);
  }
  return {offsets(sizes[0], strides[0]), offsets(sizes[1], strides[1])};
}

}  // namespace fusesmith::oracle::ref

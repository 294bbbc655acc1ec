#include "backends/common/strided.h"

#include <algorithm>

namespace fusesmith::backends {

void merge_axes(Shape& sizes, std::span<Shape> strides) {
  size_t kept = 0;  // axes [0, kept) are done
  for (size_t axis = 0; axis < sizes.size(); ++axis) {
    if (sizes[axis] == 1) continue;
    const bool merges = kept > 0 && std::all_of(strides.begin(), strides.end(), [&](const Shape& s) {
                          return s[kept - 1] == s[axis] * sizes[axis];
                        });
    if (!merges) ++kept;
    sizes[kept - 1] = merges ? sizes[kept - 1] * sizes[axis] : sizes[axis];
    for (Shape& s : strides) s[kept - 1] = s[axis];
  }
  sizes.resize(kept);
  for (Shape& s : strides) s.resize(kept);
}

std::optional<int64_t> joint_stride(Shape sizes, Shape strides) {
  merge_axes(sizes, {&strides, 1});
  if (sizes.size() > 1) return std::nullopt;
  return sizes.empty() ? 0 : strides[0];
}

Shape join(Shape a, const Shape& b) {
  a.insert(a.end(), b.begin(), b.end());
  return a;
}

std::vector<float> spread(const Tensor& tensor, const Shape& strides, const Shape& shape) {
  std::vector<float> own = to_f32(tensor);
  if (strides == strides_of(shape)) return own;
  std::vector<float> all(static_cast<size_t>(element_count(shape)));
  copy_strided(own.data(), shape, strides, all.data());
  return all;
}

}  // namespace fusesmith::backends

// Offsets of elements along a group of axes, for each operand of a product.
#pragma once

#include <vector>

#include "backends/rewrite/fused_op.h"

namespace fusesmith::backends {

// For each index of the group, in row-major order, the distance in elements from the operand's start.
class Offsets {
 public:
  Offsets(const std::vector<ProductAxis>& axes, int64_t ProductAxis::*stride) {
    values_.push_back(0);
    for (const ProductAxis& axis : axes) {
      std::vector<int64_t> next;
      next.reserve(values_.size() * static_cast<size_t>(axis.size));
      for (int64_t start : values_) {
        for (int64_t i = 0; i < axis.size; ++i) next.push_back(start + i * (axis.*stride));
      }
      values_ = std::move(next);
    }
  }
  int64_t operator[](int64_t i) const { return values_[static_cast<size_t>(i)]; }
  int64_t operator[](size_t i) const { return values_[i]; }

 private:
  std::vector<int64_t> values_;
};

struct AxisOffsets {
  explicit AxisOffsets(const std::vector<ProductAxis>& axes)
      : count(extent(axes)),
        a(axes, &ProductAxis::a),
        b(axes, &ProductAxis::b),
        out(axes, &ProductAxis::out),
        addend(axes, &ProductAxis::addend) {}

  int64_t count;
  Offsets a, b, out, addend;
};

}  // namespace fusesmith::backends

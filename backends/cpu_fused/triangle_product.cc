// TriangleProduct: for each pair (i, j), a row of f32 sums, one for each channel, accumulates the products
// of two rows of x that are half of the channels apart. Nothing is packed or transposed.
#include <algorithm>
#include <vector>

#include "backends/common/floats.h"
#include "backends/common/round_through.h"
#include "backends/cpu_fused/run_fused.h"

namespace fusesmith::backends {
namespace {

void add_products(const float* a, const float* b, std::span<float> sums) {
  for (size_t c = 0; c < sums.size(); ++c) sums[c] += a[c] * b[c];
}

// What a probe sees of the kernel, in the order of the einsum's axes: [batch, channel, i or j, k].
class TriangleValues {
 public:
  TriangleValues(const TriangleProduct& op, Probe* probe) : op_(op) {
    const auto operand = static_cast<size_t>(op.batch * op.channels * op.size * op.depth);
    left_ = InnerValue(probe, "left of product", operand);
    right_ = InnerValue(probe, "right of product", operand);
    const auto out = static_cast<size_t>(op.batch * op.size * op.size * op.channels);
    product = InnerValue(probe, "product", out, true);
  }

  // Rows k of both operands for the pair (i, j), all channels: copies of them if a probe wants to see them.
  void read(int64_t batch, int64_t i, int64_t j, int64_t k, const float*& left, const float*& right) {
    if (!left_.shown()) return;
    rows_[0].assign(left, left + op_.channels);
    rows_[1].assign(right, right + op_.channels);
    for (int64_t c = 0; c < op_.channels; ++c) {
      const int64_t plane = batch * op_.channels + c;
      const auto at_left = static_cast<size_t>((plane * op_.size + i) * op_.depth + k),
                 at_right = static_cast<size_t>((plane * op_.depth + k) * op_.size + j),
                 channel = static_cast<size_t>(c);
      rows_[0][channel] = left_(at_left, left[c]);
      rows_[1][channel] = right_(at_right, right[c]);
    }
    left = rows_[0].data();
    right = rows_[1].data();
  }
  InnerValue product;

 private:
  const TriangleProduct& op_;
  InnerValue left_, right_;
  std::vector<float> rows_[2];
};

}  // namespace

void run_fused(const TriangleProduct& triangle, const RegionScope& scope, Tensor& out) {
  const Tensor& stored = scope.at(triangle.x);
  const Floats x(stored);
  const int64_t row = 2 * triangle.channels;  // of x
  const int64_t line_step = triangle.incoming ? row : triangle.depth * row;
  const int64_t depth_step = triangle.incoming ? triangle.size * row : row;
  const bool first_batch_only = scope.planted("triangle_batch_index_dropped");
  const int64_t depth = scope.planted("triangle_depth_taken_as_size")
                            ? std::min(triangle.depth, triangle.size)
                            : triangle.depth;
  TriangleValues shown(triangle, detailed(scope.probe));
  write_floats(out, [&](std::span<float> y) {
    const auto channels = static_cast<size_t>(triangle.channels);
    std::fill(y.begin(), y.end(), 0.0f);
    size_t at = 0;
    for (int64_t batch = 0; batch < triangle.batch; ++batch) {
      const float* start = x.data() + (first_batch_only ? 0 : batch * triangle.size * triangle.depth * row);
      for (int64_t i = 0; i < triangle.size; ++i) {
        for (int64_t j = 0; j < triangle.size; ++j, at += channels) {
          const float *a = start + triangle.left + i * line_step, *b = start + triangle.right + j * line_step;
          for (int64_t k = 0; k < depth; ++k) {
            const float *left = a + k * depth_step, *right = b + k * depth_step;
            shown.read(batch, i, j, k, left, right);
            add_products(left, right, y.subspan(at, channels));
          }
          shown.product(at, y.subspan(at, channels));
        }
      }
    }
    if (scope.planted("triangle_upcast_skipped")) round_through(stored.type.dtype, y);
  });
}

}  // namespace fusesmith::backends

// TriangleProduct: for each pair (i, j), a row of f32 sums, one for each channel, accumulates the products
// of two rows of x that are half of the channels apart. Nothing is packed or transposed.
#include "backends/common/floats.h"
#include "backends/cpu_fused/round_through.h"
#include "backends/cpu_fused/run_fused.h"

namespace fusesmith::backends {
namespace {

void add_products(const float* a, const float* b, std::span<float> sums) {
  for (size_t c = 0; c < sums.size(); ++c) sums[c] += a[c] * b[c];
}

}  // namespace

void run_fused(const TriangleProduct& triangle, const RegionScope& scope, Tensor& out) {
  const Tensor& stored = scope.at(triangle.x);
  const Floats x(stored);
  const int64_t row = 2 * triangle.channels;  // of x
  const int64_t line_step = triangle.incoming ? row : triangle.depth * row;
  const int64_t depth_step = triangle.incoming ? triangle.size * row : row;
  const bool first_batch_only = scope.planted("triangle_batch_index_dropped");
  write_floats(out, [&](std::span<float> y) {
    const auto channels = static_cast<size_t>(triangle.channels);
    std::fill(y.begin(), y.end(), 0.0f);
    size_t at = 0;
    for (int64_t batch = 0; batch < triangle.batch; ++batch) {
      const float* start = x.data() + (first_batch_only ? 0 : batch * triangle.size * triangle.depth * row);
      for (int64_t i = 0; i < triangle.size; ++i) {
        for (int64_t j = 0; j < triangle.size; ++j, at += channels) {
          const float *a = start + triangle.left + i * line_step, *b = start + triangle.right + j * line_step;
          for (int64_t k = 0; k < triangle.depth; ++k)
            add_products(a + k * depth_step, b + k * depth_step, y.subspan(at, channels));
        }
      }
    }
    if (scope.planted("triangle_upcast_skipped")) round_through(stored.type.dtype, y);
  });
}

}  // namespace fusesmith::backends

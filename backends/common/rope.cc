// Rotary position embedding: two products and their difference or sum for each element of a pair.
#include "backends/common/floats.h"
#include "backends/common/kernels.h"
#include "backends/common/strided.h"

namespace fusesmith::backends {

void compute(const Rope& op, Inputs in, Outputs out, const KernelOptions&) {
  const Floats x(*in[0]), cos(*in[1]), sin(*in[2]);
  const int64_t d = out[0].type.shape.back(), half = op.rotated(d) / 2;
  Shape pairs = out[0].type.shape;
  pairs.back() = half;
  const Strided<2> space{
      pairs, {broadcast_strides(in[1]->type.shape, pairs), broadcast_strides(in[2]->type.shape, pairs)}};
  write_floats(out[0], [&](std::span<float> y) {
    for (int64_t row = 0; row < element_count(out[0].type) / d; ++row) {
      for (int64_t i = row * d + 2 * half; i < (row + 1) * d; ++i)
        y[static_cast<size_t>(i)] = x[static_cast<size_t>(i)];
    }
    int64_t pair = 0;
    using Two = std::array<int64_t, 2>;
    for_each_row(space, [&](const Two& at, int64_t count, const Two& step) {
      for (int64_t i = 0; i < count; ++i, ++pair) {
        const RopePair where = rope_pair(op.pairing, pair % half, 2 * half);
        const auto row = pair / half * d;
        const auto first = static_cast<size_t>(row + where.first),
                   second = static_cast<size_t>(row + where.second);
        const float c = cos.data()[at[0] + i * step[0]], s = sin.data()[at[1] + i * step[1]];
        y[first] = x[first] * c - x[second] * s;
        y[second] = x[second] * c + x[first] * s;
      }
    });
  });
}

}  // namespace fusesmith::backends

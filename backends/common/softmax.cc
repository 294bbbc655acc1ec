// Softmax in four passes over a row: maximum, exponentials, their sum, division.
#include <algorithm>
#include <cmath>
#include <limits>
#include <vector>

#include "backends/common/floats.h"
#include "backends/common/kernels.h"
#include "backends/common/reduce.h"

namespace fusesmith::backends {
namespace {

// The maximum passes over NaN, but exp(x - max) does not: a NaN or +inf, or -inf alone, makes the sum NaN and
// so the whole row.
void softmax_row(std::span<float> row, size_t number, const InnerValue& sums) {
  float max = -std::numeric_limits<float>::infinity();
  for (float x : row) max = x > max ? x : max;
  for (float& x : row) x = std::exp(x - max);
  const float sum = sums(number, sum_of(row.size(), [&](size_t i) { return row[i]; }));
  for (float& x : row) x /= sum;
}

}  // namespace

void compute(const Softmax& op, Inputs in, Outputs out, const KernelOptions& options) {
  const Floats x(*in[0]);
  const Shape& shape = in[0]->type.shape;
  const size_t axis = static_cast<size_t>(*resolve_axis(op.axis, in[0]->type.rank()));
  const size_t n = static_cast<size_t>(shape[axis]);
  const size_t step = static_cast<size_t>(strides_of(shape)[axis]);
  std::vector<float> row(n);
  const InnerValue sums(options.probe, "sum", x.size() / n);
  write_floats(out[0], [&](std::span<float> y) {
    for (size_t block = 0; block < y.size(); block += n * step) {
      for (size_t start = block; start < block + step; ++start) {
        for (size_t i = 0; i < n; ++i) row[i] = x[start + i * step];
        softmax_row(row, block / n + (start - block), sums);
        for (size_t i = 0; i < n; ++i) y[start + i * step] = row[i];
      }
    }
  });
}

}  // namespace fusesmith::backends

// Reductions along axes: the tensor is read with the reduced axes last, so that each result is of one row.
#include <algorithm>
#include <cmath>
#include <limits>
#include <vector>

#include "backends/common/float_functions.h"
#include "backends/common/floats.h"
#include "backends/common/kernels.h"
#include "backends/common/reduce.h"
#include "backends/common/strided.h"

namespace fusesmith::backends {
namespace {

using Row = std::span<const float>;

struct Rows {
  std::vector<float> values;
  size_t n;  // elements of each row
};

Rows rows_of(const Tensor& x, const Shape& axes) {
  const Shape& shape = x.type.shape;
  const Shape own = strides_of(shape);
  const std::vector<int> reduced = *resolve_axes(axes, x.type.rank());
  Shape sizes, strides;
  size_t n = 1;
  for (bool of_reduced : {false, true}) {
    for (size_t d = 0; d < shape.size(); ++d) {
      if (std::binary_search(reduced.begin(), reduced.end(), static_cast<int>(d)) != of_reduced) continue;
      sizes.push_back(shape[d]);
      strides.push_back(own[d]);
      if (of_reduced) n *= static_cast<size_t>(shape[d]);
    }
  }
  const Floats floats(x);
  Rows rows{std::vector<float>(floats.size()), n};
  copy_strided(floats.data(), sizes, strides, rows.values.data());
  return rows;
}

float sum(Row row) {
  return sum_of(row.size(), [&](size_t i) { return row[i]; });
}
float mean(Row row) { return sum(row) / static_cast<float>(row.size()); }

float largest(Row row) {
  float y = -std::numeric_limits<float>::infinity();
  for (float x : row) y = maximum(y, x);
  return y;
}

// y[i] = f(row i)
template <class F>
void reduce(const Rows& rows, Tensor& out, F f) {
  write_floats(out, [&](std::span<float> y) {
    for (size_t i = 0; i < y.size(); ++i) y[i] = f(Row(rows.values).subspan(i * rows.n, rows.n));
  });
}

}  // namespace

void compute(const ReduceSum& op, Inputs in, Outputs out, const KernelOptions&) {
  reduce(rows_of(*in[0], op.axes), out[0], sum);
}
void compute(const ReduceMean& op, Inputs in, Outputs out, const KernelOptions&) {
  reduce(rows_of(*in[0], op.axes), out[0], mean);
}

void compute(const ReduceMax& op, Inputs in, Outputs out, const KernelOptions&) {
  reduce(rows_of(*in[0], op.axes), out[0], largest);
}

void compute(const LogSumExp& op, Inputs in, Outputs out, const KernelOptions&) {
  reduce(rows_of(*in[0], op.axes), out[0], [](Row row) {
    const float m = largest(row);
    if (!std::isfinite(m)) return m;
    return std::log(sum_of(row.size(), [&](size_t i) { return std::exp(row[i] - m); })) + m;
  });
}

// In two passes.
void compute(const VarMean& op, Inputs in, Outputs out, const KernelOptions&) {
  const Rows rows = rows_of(*in[0], op.axes);
  reduce(rows, out[0], [&](Row row) {
    const float m = mean(row);
    const float squares = sum_of(row.size(), [&](size_t i) { return (row[i] - m) * (row[i] - m); });
    return squares / static_cast<float>(static_cast<int64_t>(row.size()) - op.correction);
  });
  reduce(rows, out[1], mean);
}

}  // namespace fusesmith::backends

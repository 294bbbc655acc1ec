// Layer normalisation over the last axis, in two passes: the mean, then the mean of squared differences.
#include <optional>

#include "backends/common/float_functions.h"
#include "backends/common/floats.h"
#include "backends/common/kernels.h"
#include "backends/common/reduce.h"

namespace fusesmith {
namespace {

// y = (x - mean) / sqrt(var + eps)
void normalize_row(std::span<const float> x, float eps, std::span<float> y) {
  const float n = static_cast<float>(x.size());
  const float mean = sum_of(x.size(), [&](size_t i) { return x[i]; }) / n;
  const auto square = [&](size_t i) { return (x[i] - mean) * (x[i] - mean); };
  const float rstd = reciprocal_sqrt(sum_of(x.size(), square) / n + eps);
  for (size_t i = 0; i < x.size(); ++i) y[i] = (x[i] - mean) * rstd;
}

std::optional<Floats> optional_input(Inputs in, size_t i) {
  if (i >= in.size()) return std::nullopt;
  return Floats(*in[i]);
}

}  // namespace

void compute(const LayerNorm& op, Inputs in, Outputs out) {
  const Floats x(*in[0]);
  const std::optional<Floats> weight = optional_input(in, 1), bias = optional_input(in, 2);
  const size_t n = static_cast<size_t>(in[0]->type.shape.back());
  const float eps = static_cast<float>(op.eps);
  write_floats(out[0], [&](std::span<float> y) {
    for (size_t start = 0; start < y.size(); start += n) {
      const std::span<float> row = y.subspan(start, n);
      normalize_row(x.span().subspan(start, n), eps, row);
      for (size_t i = 0; weight && i < n; ++i) row[i] *= (*weight)[i];
      for (size_t i = 0; bias && i < n; ++i) row[i] += (*bias)[i];
    }
  });
}

}  // namespace fusesmith

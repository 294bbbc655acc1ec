// Normalisations over rows: LayerNorm and GroupNorm in two passes (the mean, then the mean of squared
// differences), RMSNorm in one.
#include <optional>

#include "backends/common/float_functions.h"
#include "backends/common/floats.h"
#include "backends/common/kernels.h"
#include "backends/common/reduce.h"

namespace fusesmith::backends {
namespace {

struct Statistics {
  InnerValue mean, rstd;

  Statistics(Probe* probe, size_t rows) : mean(probe, "mean", rows), rstd(probe, "rstd", rows) {}
};

// y = (x - mean) / sqrt(var + eps)
void normalize_row(std::span<const float> x, float eps, std::span<float> y, size_t row,
                   const Statistics& statistics) {
  const float n = static_cast<float>(x.size());
  const float own_mean = sum_of(x.size(), [&](size_t i) { return x[i]; }) / n;
  const auto square = [&](size_t i) { return (x[i] - own_mean) * (x[i] - own_mean); };
  const float own_rstd = reciprocal_sqrt(sum_of(x.size(), square) / n + eps);
  const float mean = statistics.mean(row, own_mean), rstd = statistics.rstd(row, own_rstd);
  for (size_t i = 0; i < x.size(); ++i) y[i] = (x[i] - mean) * rstd;
}

// y = x / sqrt(mean(x^2) + eps)
void scale_row(std::span<const float> x, float eps, std::span<float> y, size_t row, const InnerValue& rstd) {
  const float n = static_cast<float>(x.size());
  const auto square = [&](size_t i) { return x[i] * x[i]; };
  const float r = rstd(row, reciprocal_sqrt(sum_of(x.size(), square) / n + eps));
  for (size_t i = 0; i < x.size(); ++i) y[i] = x[i] * r;
}

std::optional<Floats> optional_input(Inputs in, size_t i) {
  if (i >= in.size()) return std::nullopt;
  return Floats(*in[i]);
}

// Rows of n elements, each made by `row(x, y, its number)`, then times weight and plus bias of the element's
// channel: channels repeat, each with `plane` elements in a row.
template <class T, class F>
void norm_rows(const T&, Inputs in, Tensor& out, size_t n, size_t plane, size_t channels,
               const KernelOptions& options, F row) {
  const Floats x(*in[0]);
  const InnerValue result(detailed(options.probe), T::info.name, x.size(), true);
  const std::optional<Floats> weight = optional_input(in, 1), bias = optional_input(in, 2);
  write_floats(out, [&](std::span<float> y) {
    for (size_t start = 0; start < y.size(); start += n) {
      row(x.span().subspan(start, n), y.subspan(start, n), start / n);
      for (size_t at = start; at < start + n; at += plane) {
        const size_t channel = at / plane % channels;
        for (size_t i = at; weight && i < at + plane; ++i) y[i] *= (*weight)[channel];
        for (size_t i = at; bias && i < at + plane; ++i) y[i] += (*bias)[channel];
      }
      result(start, y.subspan(start, n));
    }
  });
}

}  // namespace

void compute(const LayerNorm& op, Inputs in, Outputs out, const KernelOptions& options) {
  const size_t n = static_cast<size_t>(in[0]->type.shape.back());
  const Statistics statistics(options.probe, static_cast<size_t>(in[0]->size()) / n);
  norm_rows(op, in, out[0], n, 1, n, options,
            [&, eps = static_cast<float>(op.eps)](auto x, auto y, size_t row) {
              normalize_row(x, eps, y, row, statistics);
            });
}

void compute(const RmsNorm& op, Inputs in, Outputs out, const KernelOptions& options) {
  const size_t n = static_cast<size_t>(in[0]->type.shape.back());
  const InnerValue rstd(options.probe, "rstd", static_cast<size_t>(in[0]->size()) / n);
  norm_rows(
      op, in, out[0], n, 1, n, options,
      [&, eps = static_cast<float>(op.eps)](auto x, auto y, size_t row) { scale_row(x, eps, y, row, rstd); });
}

void compute(const GroupNorm& op, Inputs in, Outputs out, const KernelOptions& options) {
  const Shape& shape = in[0]->type.shape;
  const auto channels = static_cast<size_t>(shape[1]);
  const auto plane = static_cast<size_t>(element_count(Shape(shape.begin() + 2, shape.end())));
  const size_t n = channels / static_cast<size_t>(op.groups) * plane;
  const Statistics statistics(options.probe, static_cast<size_t>(in[0]->size()) / n);
  norm_rows(op, in, out[0], n, plane, channels, options,
            [&, eps = static_cast<float>(op.eps)](auto x, auto y, size_t row) {
              normalize_row(x, eps, y, row, statistics);
            });
}

}  // namespace fusesmith::backends

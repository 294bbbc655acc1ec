// MergedProduct: x is packed once, the weights side by side in the panels of one right operand; the result is
// cut into the parts, each with its bias, before their rounding.
#include <algorithm>

#include "backends/common/floats.h"
#include "backends/cpu_fused/offsets.h"
#include "backends/cpu_fused/panels.h"
#include "backends/cpu_fused/run_fused.h"

namespace fusesmith::backends {
namespace {

std::vector<float> packed_rows(const Floats& x, const AxisOffsets& m, const AxisOffsets& k) {
  std::vector<float> rows;
  rows.reserve(static_cast<size_t>(m.count * k.count));
  for (int64_t i = 0; i < m.count; ++i) {
    for (int64_t j = 0; j < k.count; ++j) rows.push_back(x.data()[m.a[i] + k.a[j]]);
  }
  return rows;
}

// What the kernel shows of one part: its weight as it is read, its product, and its bias.
struct PartValues {
  InnerValue weight, product, bias, biased;

  PartValues(Probe* probe, const MergedProduct::Part& part, int64_t rows, int64_t depth) {
    const auto size = static_cast<size_t>(rows * part.columns);
    weight = InnerValue(probe, "right of product", static_cast<size_t>(depth * part.columns));
    product = InnerValue(probe, "product", size, !part.bias);
    if (part.bias) bias = InnerValue(probe, "bias of product", size);
    if (part.bias) biased = InnerValue(probe, "linear", size, true);
  }
};

Panels packed_weights(const MergedProduct& merged, int64_t depth, const RegionScope& scope,
                      const std::vector<PartValues>& shown) {
  int64_t columns = 0;
  for (const auto& part : merged.parts) columns += part.columns;
  Panels panels(depth, columns);
  int64_t first = 0;
  for (size_t i = 0; i < merged.parts.size(); ++i) {
    const auto& part = merged.parts[i];
    const Floats weight(scope.at(part.weight));
    const int64_t along_depth = merged.weights_transposed ? 1 : part.columns;
    const int64_t along_columns = merged.weights_transposed ? depth : 1;
    for (int64_t k = 0; k < depth; ++k) {
      for (int64_t j = 0; j < part.columns; ++j) {
        const float x = weight.data()[k * along_depth + j * along_columns];
        panels.at(k, first + j) = shown[i].weight(static_cast<size_t>(k * part.columns + j), x);
      }
    }
    first += part.columns;
  }
  return panels;
}

}  // namespace

SumOrder sum_order(const MergedProduct& merged, OnCpu) {
  return {.products = blocked_height(extent(merged.k))};
}

void run_fused(const MergedProduct& merged, const RegionScope& scope, Outputs outs) {
  check(outs.size() == merged.parts.size(), "merged_product: expected an output for each part");
  const AxisOffsets m(merged.m), k(merged.k);
  std::vector<float> rows = packed_rows(scope.floats(merged.x), m, k);
  InnerValue(detailed(scope.probe), "left of product", rows.size())(0, rows);
  std::vector<PartValues> shown;
  for (const auto& part : merged.parts) shown.emplace_back(detailed(scope.probe), part, m.count, k.count);
  const Panels weights = packed_weights(merged, k.count, scope, shown);
  const int64_t pitch = weights.padded_columns();
  std::vector<float> product(static_cast<size_t>(m.count * pitch)), copy;
  add_product(rows.data(), k.count, m.count, weights, 0, k.count, product.data(), pitch);
  for (size_t i = 0; i < outs.size(); ++i) {
    const auto& part = merged.parts[i];
    std::optional<Floats> bias;
    if (part.bias) bias.emplace(scope.at(*part.bias));
    write_floats(*outs[i], [&](std::span<float> y) {
      const auto columns = static_cast<size_t>(part.columns);
      for (size_t at = 0; at < y.size(); at += columns) {
        const float* sums = product.data() + static_cast<int64_t>(at / columns) * pitch + part.first;
        const std::span<float> row = y.subspan(at, columns);
        std::copy_n(sums, columns, row.begin());
        shown[i].product(at, row);
        if (!bias) continue;
        const auto added = shown[i].bias.read(at, bias->span(), copy);
        for (size_t j = 0; j < columns; ++j) row[j] += added[j];
        shown[i].biased(at, row);
      }
    });
  }
}

}  // namespace fusesmith::backends

// SumKernel: a kernel that computes sums of products, as reveal() and trusted_order() call it. All its sums
// have the same number of terms, and are expected to add them in the same order.
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "fuzz/order/emulate.h"

namespace fusesmith::fuzz {

// One sum whose term `plus` is a large number, whose term `minus` is its negative, and whose `units` are
// small equal numbers, but for these two; all other terms are 0. A unit that is added to a sum that has only
// one of both is lost.
struct Probe {
  int64_t plus = 0, minus = 0;
  std::shared_ptr<const std::vector<int64_t>> units;  // null: none
};

// Operands of probes: one has `large`, -large and `unit`. The other one has `factor` beside them, and
// everywhere if `unit_factor` is 0; else `unit_factor` at all other terms, so that each probe has a row and a
// column of its own. 8-bit floats need that: none of them is small enough beside another one.
struct ProbeValues {
  float large = 1, unit = 0, factor = 1, unit_factor = 0;

  bool is_paired() const { return unit_factor != 0; }
  double unit_product() const {
    return static_cast<double>(unit) * static_cast<double>(is_paired() ? unit_factor : factor);
  }
};

// What the order is revealed with. Products of units are lost beside the large number in f32, f64 and 16-bit
// sums, and sums of up to `most_units` of them are exact in the dtype of the result.
struct ProbeDtype {
  ProbeValues values;
  int64_t most_units;
};
ProbeDtype probe_dtype(graph::Dtype dtype);

// Dtypes of operands whose order can be revealed.
inline constexpr graph::Dtype kProbeDtypes[] = {graph::Dtype::f32, graph::Dtype::f16, graph::Dtype::bf16,
                                                graph::Dtype::f8e4m3, graph::Dtype::f8e5m2};

// Of a product of operands of the dtype.
constexpr graph::Dtype result_dtype(graph::Dtype operands) {
  return graph::is_quantized(operands) ? graph::Dtype::f32 : operands;
}

// Shows whether products are rounded: 1 + 2^-12 squared is no f32, so that what is left of c c - c c tells
// which of both was rounded.
inline constexpr ProbeValues kProductProbe = {1 + 0x1p-12f, 0, 1 + 0x1p-12f};

enum class ProductData : uint8_t {
  normal,
  spread,  // over 12 binary orders of magnitude
  positive,
  cancelling,  // the exact sum is 0, so that the result shows the rounding errors even in 16 bits
};
inline constexpr ProductData kProductData[] = {ProductData::normal, ProductData::cancelling,
                                               ProductData::spread, ProductData::cancelling,
                                               ProductData::positive};

// Some results of one product, and what the kernel read for them.
struct ProductSample {
  Operands operands;
  std::vector<float> bias;  // of each column; empty: none
  bool relu = false;
  std::vector<double> results;  // [rows, columns]
  std::vector<bool> wanted;     // which results to compare; empty: all

  bool is_wanted(size_t result) const { return wanted.empty() || wanted[result]; }
};

class SumKernel {
 public:
  virtual ~SumKernel() = default;
  virtual int64_t terms() const = 0;
  virtual graph::Dtype dtype() const = 0;  // of the operands
  // Whether products are rounded to f32 unless they are added by a fused multiply-add.
  virtual bool has_products() const = 0;
  virtual bool may_use_tf32() const { return false; }
  // How many probes one call takes.
  virtual int64_t capacity() const = 0;
  // One result for each probe; nothing where results differ that only differ in their place. `backwards`: the
  // probes take their places in reverse order.
  virtual std::optional<std::vector<double>> run(const std::vector<Probe>& probes, const ProbeValues& values,
                                                 bool backwards) = 0;
  // Whether the probe has the same result in all places.
  virtual bool same_everywhere(const Probe& probe, const ProbeValues& values) = 0;
  // A product of random data. `most_elements`: how many results are wanted.
  virtual ProductSample random_product(ProductData data, uint64_t seed, int64_t most_elements) = 0;
};

}  // namespace fusesmith::fuzz

// Tensor elements as f32, and f32 results stored with one rounding: the conversions of graph/dtype.h,
// faster. Only the payload of a NaN may differ.
#pragma once

#include <memory>
#include <span>

#include "backends/common/placed_tensor.h"

namespace fusesmith::backends {

// Converts elements of a float or quantized dtype at `stored` exactly; and rounds values once to the dtype.
void load_floats(Dtype dtype, const std::byte* stored, std::span<float> values);
void store_floats(std::span<const float> values, Dtype dtype, std::byte* stored);

// The elements of a float or quantized tensor: borrowed if it stores f32, otherwise a converted copy. The
// tensor must outlive it.
class Floats {
 public:
  explicit Floats(const Tensor& tensor);
  // Of all memory, also of that which belongs to no element, from element 0 on; data() - k is the element k
  // places before it.
  explicit Floats(const PlacedTensor& tensor);
  const float* data() const { return values_.data(); }
  std::span<const float> span() const { return values_; }
  size_t size() const { return values_.size(); }
  float operator[](size_t i) const { return values_[i]; }

 private:
  std::unique_ptr<float[]> copy_;
  std::span<const float> values_;
};

// Calls compute(std::span<float>) with memory for all elements of `out`, then stores them, rounded once.
template <class F>
void write_floats(Tensor& out, F compute) {
  if (out.type.dtype == Dtype::f32) return compute(out.as<float>());
  const size_t n = static_cast<size_t>(out.size());
  const auto values = std::make_unique_for_overwrite<float[]>(n);
  compute(std::span<float>(values.get(), n));
  store_floats({values.get(), n}, out.type.dtype, out.bytes.data());
}

}  // namespace fusesmith::backends

// Values in registers that are rounded to a storage type and read back.
#pragma once

#include <algorithm>
#include <array>
#include <span>

#include "backends/common/floats.h"

namespace fusesmith::backends {

inline void round_through(Dtype dtype, std::span<float> values) {
  if (dtype == Dtype::f32) return;
  alignas(16) std::array<std::byte, 1024> stored;
  const size_t step = stored.size() / 2;
  for (size_t at = 0; at < values.size(); at += step) {
    const auto part = values.subspan(at, std::min(step, values.size() - at));
    store_floats(part, dtype, stored.data());
    load_floats(dtype, stored.data(), part);
  }
}

inline float in_bf16(float x) {
  round_through(Dtype::bf16, std::span<float>(&x, 1));
  return x;
}

inline void round_through(const RoundTo& to, std::span<float> values) {
  if (to == RoundTo{to.dtype}) return round_through(to.dtype, values);
  for (float& value : values) value = static_cast<float>(to(static_cast<double>(value)));
}

}  // namespace fusesmith::backends

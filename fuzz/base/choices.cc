#include "fuzz/base/choices.h"

#include <algorithm>
#include <numeric>

namespace fusesmith::fuzz {

Choices::Choices(uint64_t seed, uint64_t shard, uint64_t counter) : counter_(counter) {
  const PhiloxBlock mixed = philox(seed, hash_name("choices"), shard);
  key_ = uint64_t{mixed[1]} << 32 | mixed[0];
}

uint32_t Choices::word(int bytes) {
  if (from_bytes_) {
    const size_t count = std::min(bytes_.size(), static_cast<size_t>(bytes));
    uint32_t value = 0;
    for (size_t i = 0; i < count; ++i) value |= uint32_t{bytes_[i]} << (8 * i);
    bytes_ = bytes_.subspan(count);
    return value;
  }
  if (used_ == 4) {
    block_ = philox(key_, counter_, block_index_++);
    used_ = 0;
  }
  const uint32_t value = block_[static_cast<size_t>(used_++)];
  return bytes == 4 ? value : value & ((1u << (8 * bytes)) - 1);
}

int64_t Choices::below(int64_t n) {
  check(n >= 1 && n <= int64_t{1} << 32, "Choices::below: expected 1 <= n <= 2^32");
  if (n == 1) return 0;
  // Bytes are taken modulo n, so that a small change of the bytes is a small change of the case.
  if (from_bytes_)
    return static_cast<int64_t>(word(n <= 256 ? 1 : n <= 65536 ? 2 : 4) % static_cast<uint64_t>(n));
  return static_cast<int64_t>((uint64_t{word(4)} * static_cast<uint64_t>(n)) >> 32);
}

bool Choices::flip(double p) {
  const auto chance = static_cast<int64_t>(p * 256);
  return chance > 0 && static_cast<int64_t>(word(1)) >= 256 - chance;
}

size_t Choices::weighted(std::span<const int> weights) {
  int64_t at = below(std::accumulate(weights.begin(), weights.end(), int64_t{0}));
  size_t i = 0;
  while (at >= weights[i]) at -= weights[i++];
  return i;
}

int64_t Choices::aside(int64_t n, uint64_t purpose) const {
  uint32_t value = 0;
  if (from_bytes_) {
    const auto* const next = reinterpret_cast<const char*>(bytes_.data());
    value = static_cast<uint32_t>(hash_name({next, std::min<size_t>(4, bytes_.size())}, purpose));
  } else {
    const uint64_t place = 8 * block_index_ + static_cast<uint64_t>(used_);
    value = philox(hash_name("aside", key_ + purpose), counter_, place)[0];
  }
  return static_cast<int64_t>((uint64_t{value} * static_cast<uint64_t>(n)) >> 32);
}

size_t Choices::weighted_of_grown(std::span<const int> weights, size_t old) {
  size_t chosen = weighted(weights.first(old));
  int64_t total =
      std::accumulate(weights.begin(), weights.begin() + static_cast<std::ptrdiff_t>(old), int64_t{0});
  for (size_t i = old; i < weights.size(); ++i) {
    const auto later = static_cast<int>(i - old);
    total += weights[i];
    if (barred_.contains(later) || aside(total, i) >= weights[i]) continue;
    chosen = i;
    latest_ = std::max(latest_, later);
  }
  return chosen;
}

}  // namespace fusesmith::fuzz

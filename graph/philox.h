// Philox4x32-10, the counter-based generator of Salmon, Moraes, Dror and Shaw, "Parallel random numbers: as
// easy as 1, 2, 3" (SC11): a keyed bijection of 128-bit counters, so any draw can be made alone and in any
// order.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <string_view>

#include "graph/namespaces.h"

namespace fusesmith::graph {

using PhiloxBlock = std::array<uint32_t, 4>;

inline PhiloxBlock philox(uint64_t key, uint64_t counter_hi, uint64_t counter_lo) {
  PhiloxBlock c = {static_cast<uint32_t>(counter_lo), static_cast<uint32_t>(counter_lo >> 32),
                   static_cast<uint32_t>(counter_hi), static_cast<uint32_t>(counter_hi >> 32)};
  uint32_t k0 = static_cast<uint32_t>(key), k1 = static_cast<uint32_t>(key >> 32);
  for (int round = 0; round < 10; ++round) {
    const uint64_t p0 = uint64_t{0xD2511F53u} * c[0];
    const uint64_t p1 = uint64_t{0xCD9E8D57u} * c[2];
    c = {static_cast<uint32_t>(p1 >> 32) ^ c[1] ^ k0, static_cast<uint32_t>(p1),
         static_cast<uint32_t>(p0 >> 32) ^ c[3] ^ k1, static_cast<uint32_t>(p0)};
    k0 += 0x9E3779B9u;
    k1 += 0xBB67AE85u;
  }
  return c;
}

// The blocks of kPhiloxLanes consecutive counters, word by word: result[w][i] is word w of philox(key,
// counter_hi, counter_lo + i). One loop per round over plain arrays, which compilers turn into vector
// instructions.
inline constexpr size_t kPhiloxLanes = 16;
using PhiloxLanes = std::array<std::array<uint32_t, kPhiloxLanes>, 4>;

inline void philox_lanes(uint64_t key, uint64_t counter_hi, uint64_t counter_lo, PhiloxLanes& c) {
  for (size_t i = 0; i < kPhiloxLanes; ++i) {
    const uint64_t counter = counter_lo + i;
    c[0][i] = static_cast<uint32_t>(counter);
    c[1][i] = static_cast<uint32_t>(counter >> 32);
    c[2][i] = static_cast<uint32_t>(counter_hi);
    c[3][i] = static_cast<uint32_t>(counter_hi >> 32);
  }
  uint32_t k0 = static_cast<uint32_t>(key), k1 = static_cast<uint32_t>(key >> 32);
  for (int round = 0; round < 10; ++round) {
    for (size_t i = 0; i < kPhiloxLanes; ++i) {
      const uint64_t p0 = uint64_t{0xD2511F53u} * c[0][i];
      const uint64_t p1 = uint64_t{0xCD9E8D57u} * c[2][i];
      c[0][i] = static_cast<uint32_t>(p1 >> 32) ^ c[1][i] ^ k0;
      c[1][i] = static_cast<uint32_t>(p1);
      c[2][i] = static_cast<uint32_t>(p0 >> 32) ^ c[3][i] ^ k1;
      c[3][i] = static_cast<uint32_t>(p0);
    }
    k0 += 0x9E3779B9u;
    k1 += 0xBB67AE85u;
  }
}

// FNV-1a: hashes a name to a part of a key.
inline uint64_t hash_name(std::string_view text, uint64_t hash = 0xcbf29ce484222325u) {
  for (char c : text) hash = (hash ^ static_cast<uint8_t>(c)) * 0x100000001b3u;
  return hash;
}

}  // namespace fusesmith::graph

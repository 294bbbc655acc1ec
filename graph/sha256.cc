#include "graph/sha256.h"

#include <bit>

namespace fusesmith::graph {
namespace {

constexpr size_t kBlock = 64;  // bytes

// The first 32 bits of the fractions of the cube roots of the first 64 primes (section 4.2.2).
constexpr std::array<uint32_t, 64> kConstants = {
    0x428a2f98, 0x71374491, 0xb5c0fbcf, 0xe9b5dba5, 0x3956c25b, 0x59f111f1, 0x923f82a4, 0xab1c5ed5,
    0xd807aa98, 0x12835b01, 0x243185be, 0x550c7dc3, 0x72be5d74, 0x80deb1fe, 0x9bdc06a7, 0xc19bf174,
    0xe49b69c1, 0xefbe4786, 0x0fc19dc6, 0x240ca1cc, 0x2de92c6f, 0x4a7484aa, 0x5cb0a9dc, 0x76f988da,
    0x983e5152, 0xa831c66d, 0xb00327c8, 0xbf597fc7, 0xc6e00bf3, 0xd5a79147, 0x06ca6351, 0x14292967,
    0x27b70a85, 0x2e1b2138, 0x4d2c6dfc, 0x53380d13, 0x650a7354, 0x766a0abb, 0x81c2c92e, 0x92722c85,
    0xa2bfe8a1, 0xa81a664b, 0xc24b8b70, 0xc76c51a3, 0xd192e819, 0xd6990624, 0xf40e3585, 0x106aa070,
    0x19a4c116, 0x1e376c08, 0x2748774c, 0x34b0bcb5, 0x391c0cb3, 0x4ed8aa4a, 0x5b9cca4f, 0x682e6ff3,
    0x748f82ee, 0x78a5636f, 0x84c87814, 0x8cc70208, 0x90befffa, 0xa4506ceb, 0xbef9a3f7, 0xc67178f2};

using Words = std::array<uint32_t, 8>;

uint32_t big_endian(const std::byte* bytes) {
  uint32_t word = 0;
  for (int i = 0; i < 4; ++i) word = word << 8 | static_cast<uint32_t>(bytes[i]);
  return word;
}

void take_block(Words& state, const std::byte* block) {  // section 6.2.2
  std::array<uint32_t, 64> words;
  for (size_t t = 0; t < 16; ++t) words[t] = big_endian(block + 4 * t);
  for (size_t t = 16; t < 64; ++t) {
    const uint32_t early = words[t - 15], late = words[t - 2];
    words[t] = words[t - 16] + (std::rotr(early, 7) ^ std::rotr(early, 18) ^ early >> 3) + words[t - 7] +
               (std::rotr(late, 17) ^ std::rotr(late, 19) ^ late >> 10);
  }
  auto [a, b, c, d, e, f, g, h] = state;
  for (size_t t = 0; t < 64; ++t) {
    const uint32_t first = h + (std::rotr(e, 6) ^ std::rotr(e, 11) ^ std::rotr(e, 25)) +
                           ((e & f) ^ (~e & g)) + kConstants[t] + words[t];
    const uint32_t second =
        (std::rotr(a, 2) ^ std::rotr(a, 13) ^ std::rotr(a, 22)) + ((a & b) ^ (a & c) ^ (b & c));
    h = g, g = f, f = e, e = d + first;
    d = c, c = b, b = a, a = first + second;
  }
  const Words added = {a, b, c, d, e, f, g, h};
  for (size_t i = 0; i < state.size(); ++i) state[i] += added[i];
}

}  // namespace

std::string sha256(std::span<const std::byte> bytes) {
  Words state = {0x6a09e667, 0xbb67ae85, 0x3c6ef372, 0xa54ff53a,
                 0x510e527f, 0x9b05688c, 0x1f83d9ab, 0x5be0cd19};
  size_t at = 0;
  for (; bytes.size() - at >= kBlock; at += kBlock) take_block(state, bytes.data() + at);
  // The rest, a one bit, zeros, and the number of bits in 64 bits.
  std::array<std::byte, 2 * kBlock> last = {};
  const size_t rest = bytes.size() - at, padded = rest + 9 <= kBlock ? kBlock : 2 * kBlock;
  for (size_t i = 0; i < rest; ++i) last[i] = bytes[at + i];
  last[rest] = std::byte{0x80};
  for (size_t i = 0; i < 8; ++i)
    last[padded - 1 - i] = static_cast<std::byte>(uint64_t{bytes.size()} * 8 >> 8 * i);
  for (size_t block = 0; block < padded; block += kBlock) take_block(state, last.data() + block);
  static constexpr char kDigits[] = "0123456789abcdef";
  std::string text;
  for (const uint32_t word : state) {
    for (int shift = 28; shift >= 0; shift -= 4) text += kDigits[word >> shift & 15];
  }
  return text;
}

}  // namespace fusesmith::graph

// The tile shapes of the attention kernels, and the shared memory that each needs. C++17 without graph
// headers, so that .cu files can include it.
#pragma once

namespace fusesmith::backends {

inline constexpr int kAttentionThreads = 128;  // of one block
inline constexpr int kAttentionWarps = kAttentionThreads / 32;
inline constexpr int kLargestHead = 256;  // most columns of q, k and v
inline constexpr int kSmallestKeyTile = 32;

// The units that multiply: FMA units in IEEE f32, or tensor cores on 16-bit or tf32 operands.
enum class AttentionUnit : int { fma, mma_16_bit, mma_tf32 };

// The number is the largest head. split: the four warps share the queries and split the keys. tall: more
// queries per block.
enum class AttentionTile : int { head_64_split, head_64, head_64_tall, head_128, head_256 };

struct AttentionShape {
  int head;                     // depth and width are at most this
  int warp_queries, warp_keys;  // per warp and step
  int key_warps;                // how many warps process the same queries with different keys
  int blocks;                   // resident blocks per multiprocessor (launch bounds)

  constexpr int queries() const { return warp_queries * (kAttentionWarps / key_warps); }
  constexpr int keys() const { return warp_keys * key_warps; }
};

// The tensor cores have no tall tile.
constexpr AttentionShape attention_shape(AttentionUnit unit, AttentionTile tile) {
  const bool fma = unit == AttentionUnit::fma;
  switch (tile) {
    case AttentionTile::head_64_split:
      return {64, 16, 32, 4, fma ? 2 : 4};
    case AttentionTile::head_64:
      return {64, 16, 64, 1, fma ? 3 : 4};
    case AttentionTile::head_64_tall:
      return {64, 32, 64, 1, 2};
    case AttentionTile::head_128:
      return {128, 16, 32, 1, fma ? 2 : 1};
    case AttentionTile::head_256:
      break;
  }
  return {kLargestHead, 16, 32, 1, 1};
}

// Elements from one row of a tile in shared memory to the next. Rows are padded by 16 bytes, so that the same
// 16 bytes of eight neighbouring rows are in different banks.
constexpr int attention_pitch(int element_bytes, int columns) { return columns + 16 / element_bytes; }

// The same for the exponentials of the FMA kernel: neighbouring rows are in different banks, both for writes
// of one element and for reads of four.
constexpr int attention_weight_pitch(int warp_keys) { return warp_keys + 8; }

// Shared memory of a block: tiles of queries, keys and values, and for the FMA units the exponentials.
constexpr int attention_shared_bytes(AttentionUnit unit, AttentionTile tile) {
  const AttentionShape shape = attention_shape(unit, tile);
  const int element_bytes = unit == AttentionUnit::mma_16_bit ? 2 : 4;
  const int rows = shape.queries() + 2 * shape.keys();
  const int weights = unit == AttentionUnit::fma
                          ? kAttentionWarps * shape.warp_queries * attention_weight_pitch(shape.warp_keys)
                          : 0;
  return rows * attention_pitch(element_bytes, shape.head) * element_bytes + weights * 4;
}

}  // namespace fusesmith::backends

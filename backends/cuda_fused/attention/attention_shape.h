// How attention kernels cut their work into blocks, and what a block needs: the one list of tiles. C++17
// without graph headers, so that .cu files can include it.
#pragma once

namespace fusesmith::backends {

inline constexpr int kAttentionThreads = 128;  // of one block
inline constexpr int kAttentionWarps = kAttentionThreads / 32;
inline constexpr int kLargestHead = 256;  // most columns of q, k and v
inline constexpr int kSmallestKeyTile = 32;

// What multiplies: the FMA units in IEEE f32, or the tensor cores from tiles of 16-bit elements or of tf32.
enum class AttentionUnit : int { fma, mma_16_bit, mma_tf32 };

// The name says the largest head. `split`: the four warps share the queries and split the keys. `tall`: more
// queries in a block.
enum class AttentionTile : int { head_64_split, head_64, head_64_tall, head_128, head_256 };

struct AttentionShape {
  int head;                     // depth and width are at most this
  int warp_queries, warp_keys;  // of one warp, in one step
  int key_warps;                // how many warps take the same queries, each its own keys
  int blocks;                   // how many blocks a processor is to hold at once

  constexpr int queries() const { return warp_queries * (kAttentionWarps / key_warps); }
  constexpr int keys() const { return warp_keys * key_warps; }
};

// Tensor cores have no tall tile.
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

// Columns of a tile in shared memory: 16 bytes more than its rows need, so that the same 16 bytes of eight
// neighbouring rows stand in different banks.
constexpr int attention_pitch(int element_bytes, int columns) { return columns + 16 / element_bytes; }

// Exponentials of the FMA kernel: neighbouring rows stand in different banks, whether one is written or four
// are read.
constexpr int attention_weight_pitch(int warp_keys) { return warp_keys + 8; }

// Shared memory of a block: queries, keys and values, and for the FMA units the exponentials.
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

#include "backends/cuda_fused/attention/attention_tiles.h"

#include <gtest/gtest.h>

namespace fusesmith::backends {
namespace {

using Tile = AttentionTile;
using Unit = AttentionUnit;

// Processors, and the largest shared memory of a block (CUDA C++ Programming Guide, "Compute Capabilities").
constexpr AttentionDevice kA100 = {108, 163 << 10}, kH200 = {132, 227 << 10};
constexpr AttentionDevice kSmall = {84, 99 << 10};  // 8.6, 8.9 and 12.x

struct Problem {
  Storage storage = Storage::f32;
  bool tf32 = false;
  int head = 64, batch = 1, queries = 128, keys = 128;
};

AttentionParams params_of(const Problem& problem) {
  AttentionParams p{};
  p.batch.count = problem.batch;
  p.queries = problem.queries;
  p.keys = problem.keys;
  p.depth = p.width = problem.head;
  p.q.storage = p.k.storage = p.v.storage = p.p_storage = p.out_storage = problem.storage;
  p.tf32 = problem.tf32;
  return p;
}

TEST(AttentionTiles, UnitsByStorageAndScale) {
  EXPECT_EQ(attention_unit(params_of({Storage::f32})), Unit::fma);
  EXPECT_EQ(attention_unit(params_of({Storage::f32, true})), Unit::mma_tf32);
  EXPECT_EQ(attention_unit(params_of({Storage::bf16})), Unit::mma_16_bit);
  AttentionParams scaled = params_of({Storage::f16});
  scaled.q_scale.kind = AttentionFactor::Kind::multiply;
  EXPECT_EQ(attention_unit(scaled), Unit::fma);
  AttentionParams mixed = params_of({Storage::f16});
  mixed.p_storage = Storage::f32;
  EXPECT_EQ(attention_unit(mixed), Unit::fma);
}

// What the launches asked for when the choice did not look at the device: three of them more than 99 KB.
TEST(AttentionTiles, SharedMemory) {
  EXPECT_EQ(attention_shared_bytes(Unit::fma, Tile::head_64_tall), 106496);
  EXPECT_EQ(attention_shared_bytes(Unit::fma, Tile::head_256), 143360);
  EXPECT_EQ(attention_shared_bytes(Unit::mma_tf32, Tile::head_256), 133120);
  EXPECT_EQ(attention_shared_bytes(Unit::fma, Tile::head_64), 70656);
  EXPECT_EQ(attention_shared_bytes(Unit::mma_16_bit, Tile::head_256), 67584);
}

TEST(AttentionTiles, NothingAsksForMoreThanTheDeviceHas) {
  for (const AttentionDevice& device : {kA100, kH200, kSmall}) {
    for (const Storage storage : {Storage::f32, Storage::f16, Storage::bf16}) {
      for (const bool tf32 : {false, true}) {
        for (const int head : {1, 64, 65, 128, 129, 256}) {
          for (const int batch : {1, 16, 1000}) {
            for (const int length : {1, 128, 129, 4096}) {
              const AttentionParams p = params_of({storage, tf32, head, batch, length, length});
              const auto tile = choose_attention_tile(p, device);
              const bool wide = storage == Storage::f32 && head > 128;
              EXPECT_EQ(tile.has_value(), !(wide && device.shared_bytes == kSmall.shared_bytes));
              if (!tile) continue;
              EXPECT_LE(attention_shared_bytes(attention_unit(p), *tile), device.shared_bytes);
              EXPECT_GE(attention_shape(attention_unit(p), *tile).head, head);
            }
          }
        }
      }
    }
  }
}

TEST(AttentionTiles, LargerHeadsThanAnyTileAreRefused) {
  EXPECT_FALSE(choose_attention_tile(params_of({Storage::f16, false, kLargestHead + 1}), kH200));
}

TEST(AttentionTiles, SmallerDevicesTakeSmallerTiles) {
  const AttentionParams many = params_of({Storage::f32, false, 64, 64, 1024, 1024});
  EXPECT_EQ(choose_attention_tile(many, kH200), Tile::head_64_tall);
  EXPECT_EQ(choose_attention_tile(many, kSmall), Tile::head_64);
}

TEST(AttentionTiles, FewBlocksSplitTheKeys) {
  EXPECT_EQ(choose_attention_tile(params_of({Storage::f16, false, 64, 1, 64, 4096}), kH200),
            Tile::head_64_split);
  EXPECT_EQ(choose_attention_tile(params_of({Storage::f16, false, 64, 1, 64, 128}), kH200), Tile::head_64);
  EXPECT_EQ(choose_attention_tile(params_of({Storage::f16, false, 64, 67, 64, 4096}), kH200), Tile::head_64);
  EXPECT_EQ(choose_attention_tile(params_of({Storage::f32, false, 64, 67, 64, 4096}), kH200), Tile::head_64);
}

}  // namespace
}  // namespace fusesmith::backends

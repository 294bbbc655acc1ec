#include "backends/cuda_fused/attention/attention_tiles.h"

#include <algorithm>
#include <vector>

namespace fusesmith::backends {
namespace {

int64_t blocks_of(const AttentionParams& p, AttentionUnit unit, AttentionTile tile) {
  const int queries = attention_shape(unit, tile).queries();
  return int64_t{p.batch.count} * ((p.queries + queries - 1) / queries);
}

// Whether blocks of this tile fill at least three quarters of the device.
bool fills_device(const AttentionParams& p, AttentionUnit unit, AttentionTile tile,
                  const AttentionDevice& device) {
  return 4 * blocks_of(p, unit, tile) >= int64_t{3} * device.processors * attention_shape(unit, tile).blocks;
}

// Whether blocks without split keys would leave most of the device idle, and there are enough keys to split.
bool splits_keys(const AttentionParams& p, AttentionUnit unit, const AttentionDevice& device) {
  constexpr int kFewKeys = 128;
  return p.keys > kFewKeys && 2 * blocks_of(p, unit, AttentionTile::head_64) <= device.processors;
}

// In order of preference.
std::vector<AttentionTile> candidates(const AttentionParams& p, AttentionUnit unit,
                                      const AttentionDevice& device) {
  using Tile = AttentionTile;
  const int head = std::max(p.depth, p.width);
  if (head > kLargestHead) return {};
  if (head > 128) return {Tile::head_256};
  if (head > 64) return {Tile::head_128};
  if (splits_keys(p, unit, device)) return {Tile::head_64_split, Tile::head_64};
  if (unit == AttentionUnit::fma && fills_device(p, unit, Tile::head_64_tall, device))
    return {Tile::head_64_tall, Tile::head_64};
  return {Tile::head_64};
}

}  // namespace

AttentionDevice attention_device() {
  static const AttentionDevice found = [] {
    const auto ask = [](cudaDeviceAttr attribute, int otherwise) {
      int device = 0, value = 0;
      const bool known = cudaGetDevice(&device) == cudaSuccess &&
                         cudaDeviceGetAttribute(&value, attribute, device) == cudaSuccess;
      cudaGetLastError();
      return known ? value : otherwise;
    };
    return AttentionDevice{ask(cudaDevAttrMultiProcessorCount, 132),
                           ask(cudaDevAttrMaxSharedMemoryPerBlockOptin, 227 << 10)};
  }();
  return found;
}

AttentionUnit attention_unit(const AttentionParams& p) {
  const Storage storage = p.q.storage;
  if (p.k.storage != storage || p.v.storage != storage || p.p_storage != storage) return AttentionUnit::fma;
  if (storage == Storage::f32) return p.tf32 ? AttentionUnit::mma_tf32 : AttentionUnit::fma;
  const bool scaled =
      p.q_scale.kind != AttentionFactor::Kind::none || p.k_scale.kind != AttentionFactor::Kind::none;
  return scaled ? AttentionUnit::fma : AttentionUnit::mma_16_bit;
}

std::optional<AttentionTile> choose_attention_tile(const AttentionParams& params,
                                                   const AttentionDevice& device) {
  const AttentionUnit unit = attention_unit(params);
  for (const AttentionTile tile : candidates(params, unit, device)) {
    if (attention_shared_bytes(unit, tile) <= device.shared_bytes) return tile;
  }
  return std::nullopt;
}

cudaError_t launch_attention(const AttentionParams& params, AttentionTile tile, cudaStream_t stream) {
  switch (attention_unit(params)) {
    case AttentionUnit::fma:
      return launch_attention_fma(params, tile, stream);
    case AttentionUnit::mma_tf32:
      return launch_attention_tf32(params, tile, stream);
    case AttentionUnit::mma_16_bit:
      break;
  }
  return params.q.storage == Storage::f16 ? launch_attention_f16(params, tile, stream)
                                          : launch_attention_bf16(params, tile, stream);
}

}  // namespace fusesmith::backends

// The sizes in which the fused kernels divide their work, in one place. Generated cases have sizes at the
// edges of these tiles, and coverage counts them.
#pragma once

#include <algorithm>
#include <array>
#include <cstdint>
#include <string_view>

namespace fusesmith::backends {

enum class TileSite : uint8_t { cpu_fused, cuda_fused };

struct KernelTile {
  std::string_view pattern;  // whose kernel it is
  std::string_view axis;
  TileSite site;
  int64_t size;
};

// clang-format off
inline constexpr KernelTile kKernelTiles[] = {
    {"sdpa", "queries", TileSite::cpu_fused, 16},
    {"sdpa", "keys", TileSite::cpu_fused, 32},
    {"sdpa", "keys of a split", TileSite::cpu_fused, 64},
    {"sdpa", "queries", TileSite::cuda_fused, 64},
    {"sdpa", "queries of a tall tile", TileSite::cuda_fused, 128},
    {"sdpa", "keys", TileSite::cuda_fused, 64},
    {"sdpa", "keys of a split", TileSite::cuda_fused, 128},
    {"gemm_bias_act", "rows", TileSite::cpu_fused, 64},
    {"gemm_bias_act", "columns", TileSite::cpu_fused, 16},
    {"gemm_bias_act", "depth", TileSite::cpu_fused, 128},
    {"gemm_bias_act", "rows", TileSite::cuda_fused, 64},
    {"gemm_bias_act", "depth", TileSite::cuda_fused, 16},
    {"einsum_to_gemm", "rows", TileSite::cpu_fused, 64},
    {"einsum_to_gemm", "columns", TileSite::cpu_fused, 16},
    {"einsum_to_gemm", "depth", TileSite::cpu_fused, 128},
    {"einsum_to_pointwise", "terms", TileSite::cpu_fused, 8},
    {"einsum_to_pointwise", "terms of a warp", TileSite::cuda_fused, 256},
    {"merged_qkv", "columns", TileSite::cpu_fused, 16},
    {"merged_qkv", "depth", TileSite::cpu_fused, 128},
    {"layer_norm_welford", "columns", TileSite::cpu_fused, 8},
    {"layer_norm_welford", "columns", TileSite::cuda_fused, 32},
    {"layer_norm_welford", "columns of a warp", TileSite::cuda_fused, 1024},
    {"log_softmax", "columns", TileSite::cpu_fused, 8},
    {"log_softmax", "columns of a warp", TileSite::cuda_fused, 1024},
    {"add_norm", "columns", TileSite::cpu_fused, 8},
    {"add_norm", "columns", TileSite::cuda_fused, 32},
    {"pointwise_chain", "elements", TileSite::cpu_fused, 256},
    {"gate", "elements of a vector", TileSite::cuda_fused, 8},
    {"cache_update_in_place", "elements of a line", TileSite::cuda_fused, 32},
    {"cache_update_in_place", "slices", TileSite::cuda_fused, 8},
    {"permute_folding", "columns", TileSite::cpu_fused, 16},
    {"triangle_multiplication", "rows", TileSite::cuda_fused, 8},
    {"triangle_multiplication", "columns", TileSite::cuda_fused, 16},
    {"triangle_multiplication", "channels", TileSite::cuda_fused, 32},
};
// clang-format on

// Their different sizes, ascending.
inline constexpr std::array<int64_t, 7> kTileSizes = {8, 16, 32, 64, 128, 256, 1024};
inline constexpr std::array<std::string_view, 7> kTileSizeNames = {"8",   "16",  "32",  "64",
                                                                   "128", "256", "1024"};

// The tile of a kernel of cpu_fused, for the kernel itself.
consteval int64_t cpu_tile(std::string_view pattern, std::string_view axis) {
  for (const KernelTile& tile : kKernelTiles) {
    if (tile.site == TileSite::cpu_fused && tile.pattern == pattern && tile.axis == axis) return tile.size;
  }
  throw "no such tile";
}

constexpr bool is_kernel_tile(std::string_view pattern, int64_t size) {
  return std::any_of(std::begin(kKernelTiles), std::end(kKernelTiles),
                     [&](const KernelTile& tile) { return tile.pattern == pattern && tile.size == size; });
}

// How a size fits a tile; `other` also where it is smaller than the tile by more than
// one.
enum class TileFit : uint8_t { whole, one_more, one_less, other };
inline constexpr std::array<std::string_view, 4> kTileFits = {"whole", "one_more", "one_less", "other"};

constexpr TileFit fit_of(int64_t size, int64_t tile) {
  const int64_t rest = size % tile;
  if (rest == 0) return TileFit::whole;
  if (rest == 1 && size > tile) return TileFit::one_more;
  return rest == tile - 1 ? TileFit::one_less : TileFit::other;
}

}  // namespace fusesmith::backends

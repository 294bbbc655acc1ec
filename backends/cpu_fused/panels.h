// The inner loops of products: the right operand is packed into panels of 16 columns, and sums accumulate
// in f32 registers. The sum over k is divided into blocks that are summed separately, as in a tiled GPU
// kernel, so that the place of a term does not depend on the other dimensions.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <vector>

#include "backends/rewrite/kernel_tiles.h"

namespace fusesmith::backends {

inline constexpr int64_t kPanelColumns = cpu_tile("gemm_bias_act", "columns");
inline constexpr int64_t kDepthBlock = cpu_tile("gemm_bias_act", "depth");

inline int64_t round_up(int64_t n, int64_t multiple) { return (n + multiple - 1) / multiple * multiple; }

// A [depth, columns] matrix; element (k, j) lies at panel(j / 16)[k * 16 + j % 16], columns beyond the last
// are 0.
class Panels {
 public:
  Panels(int64_t depth, int64_t columns)
      : depth_(depth),
        columns_(columns),
        data_(static_cast<size_t>(depth * round_up(columns, kPanelColumns))) {}

  int64_t depth() const { return depth_; }
  int64_t columns() const { return columns_; }
  int64_t padded_columns() const { return round_up(columns_, kPanelColumns); }
  float& at(int64_t k, int64_t j) {
    return data_[static_cast<size_t>((j / kPanelColumns * depth_ + k) * kPanelColumns + j % kPanelColumns)];
  }
  const float* panel(int64_t p) const { return data_.data() + p * depth_ * kPanelColumns; }

 private:
  int64_t depth_, columns_;
  std::vector<float> data_;
};

// c [rows, 16] += a [rows, depth] times `depth` rows of a panel, starting at `panel`.
void add_panel_product(const float* a, int64_t a_stride, int64_t rows, const float* panel, int64_t depth,
                       float* c, int64_t c_stride);

// c [rows, columns.padded] += a [rows, depth] times rows [first, first + depth) of b, in blocks of
// kDepthBlock.
void add_product(const float* a, int64_t a_stride, int64_t rows, const Panels& b, int64_t first,
                 int64_t depth, float* c, int64_t c_stride);

// Arithmetic::sum_height of products by add_product: each is rounded, then added within its block, blocks one
// after the other, and a bias.
inline double blocked_height(int64_t terms, int64_t block = kDepthBlock) {
  const int64_t blocks = (terms + block - 1) / block;
  return static_cast<double>(2 + std::min(terms, block) + blocks);
}

}  // namespace fusesmith::backends

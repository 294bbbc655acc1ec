#include "backends/cpu_fused/panels.h"

#include <algorithm>
#include <cstring>

namespace fusesmith::backends {
namespace {

// Eight floats in one register, if the machine has such registers; otherwise the compiler splits them.
using Vector = float __attribute__((vector_size(32)));

constexpr int64_t kRowBlock = 4;

template <int Rows>
void multiply_rows(const float* a, int64_t a_stride, const float* panel, int64_t depth, float* c,
                   int64_t c_stride) {
  Vector sum[Rows][2] = {};
  for (int64_t k = 0; k < depth; ++k) {
    Vector b[2];
    std::memcpy(b, panel + k * kPanelColumns, sizeof b);
    for (int r = 0; r < Rows; ++r) {
      const Vector x = Vector{} + a[r * a_stride + k];
      sum[r][0] += x * b[0];
      sum[r][1] += x * b[1];
    }
  }
  for (int r = 0; r < Rows; ++r) {
    Vector before[2];
    std::memcpy(before, c + r * c_stride, sizeof before);
    before[0] += sum[r][0];
    before[1] += sum[r][1];
    std::memcpy(c + r * c_stride, before, sizeof before);
  }
}

}  // namespace

void add_panel_product(const float* a, int64_t a_stride, int64_t rows, const float* panel, int64_t depth,
                       float* c, int64_t c_stride) {
  for (; rows >= kRowBlock; rows -= kRowBlock, a += kRowBlock * a_stride, c += kRowBlock * c_stride) {
    multiply_rows<kRowBlock>(a, a_stride, panel, depth, c, c_stride);
  }
  switch (rows) {
    case 3:
      return multiply_rows<3>(a, a_stride, panel, depth, c, c_stride);
    case 2:
      return multiply_rows<2>(a, a_stride, panel, depth, c, c_stride);
    case 1:
      return multiply_rows<1>(a, a_stride, panel, depth, c, c_stride);
    default:
      return;
  }
}

void add_product(const float* a, int64_t a_stride, int64_t rows, const Panels& b, int64_t first,
                 int64_t depth, float* c, int64_t c_stride) {
  for (int64_t k = 0; k < depth; k += kDepthBlock) {
    const int64_t block = std::min(kDepthBlock, depth - k);
    for (int64_t j = 0; j < b.columns(); j += kPanelColumns) {
      const float* panel = b.panel(j / kPanelColumns) + (first + k) * kPanelColumns;
      add_panel_product(a + k, a_stride, rows, panel, block, c + j, c_stride);
    }
  }
}

}  // namespace fusesmith::backends

// Rows of two tensors that are read together. Only .cu files include this.
#pragma once

#include "backends/cuda_fused/rows/welford.cuh"

namespace fusesmith::backends::device {

template <class T>
struct RowPair {
  struct Elements {
    static constexpr int kSize = Piece<T>::kSize;
    Piece<T> first, second;
  };
  const T *first, *second;
  int columns;

  __device__ Elements piece(int column) const {
    return {load(first, column, columns), load(second, column, columns)};
  }
};

// A sum over the lanes of a row. Each sum of a kernel has its own number (see combined_over_row).
template <int kNumber>
struct SumOfRow : Add {};

// The sum of term(element j of the piece, its place) over the columns up to `end`.
template <int kNumber, class Row, int kWarps, class F>
__device__ float sum_over_row(const LaneOfRow<Row, kWarps>& lane, const Row& row, int end, F term) {
  float parts[kChains] = {};
  lane.each_piece(row, end, [&](int, int column, const typename Row::Elements& piece) {
#pragma unroll
    for (int j = 0; j < Row::Elements::kSize; ++j) {
      if (column + j < end) parts[j % kChains] += term(piece, j, column + j);
    }
  });
  return combined_over_row<kWarps>((parts[0] + parts[1]) + (parts[2] + parts[3]), SumOfRow<kNumber>{});
}

}  // namespace fusesmith::backends::device

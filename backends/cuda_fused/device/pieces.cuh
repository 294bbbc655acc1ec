// Vectors of 16 bytes, for kernels that read and write along rows. Only .cu files include this.
#pragma once

#include "backends/cuda/kernels/device_math.cuh"

namespace fusesmith::backends::device {

template <class T>
struct alignas(16) Piece {
  static constexpr int kSize = 16 / static_cast<int>(sizeof(T));
  T at[kSize];

  __device__ float operator[](int j) const { return to_float(at[j]); }
};

// Columns [column, column + kSize) of a row; zeros past the end. Whole pieces are aligned.
template <class T>
__device__ Piece<T> load(const T* row, int column, int columns) {
  Piece<T> piece = {};
  if (columns % Piece<T>::kSize == 0) {
    if (column < columns) piece = *reinterpret_cast<const Piece<T>*>(row + column);
    return piece;
  }
#pragma unroll
  for (int j = 0; j < Piece<T>::kSize; ++j) {
    if (column + j < columns) piece.at[j] = row[column + j];
  }
  return piece;
}

template <class T>
__device__ void store(T* row, int column, int columns, const Piece<T>& piece) {
  if (columns % Piece<T>::kSize == 0) {
    *reinterpret_cast<Piece<T>*>(row + column) = piece;
    return;
  }
#pragma unroll
  for (int j = 0; j < Piece<T>::kSize; ++j) {
    if (column + j < columns) row[column + j] = piece.at[j];
  }
}

}  // namespace fusesmith::backends::device

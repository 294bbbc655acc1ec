// What the two attention kernels share: the block's part of the problem and tiles of a matrix in shared
// memory. Only .cu files include this.
#pragma once

#include "backends/cuda/device_math.cuh"
#include "backends/cuda/index_space.cuh"
#include "backends/cuda_fused/attention.h"
#include "backends/cuda_fused/planted.cuh"

namespace fusesmith::device {

// Where the matrices of one element of the batch start.
struct AttentionStarts {
  int q = 0, k = 0, v = 0, mask = 0, other = 0;

  __device__ AttentionStarts(const AttentionParams& p, int index) {
    for_each_axis(p.batch, index, [&](int axis, int i) {
      q += i * p.q.batch[axis];
      k += i * p.k.batch[axis];
      v += i * p.v.batch[axis];
      mask += i * p.mask.batch[axis];
      other += i * p.other.batch[axis];
    });
  }
};

// A factor, read once.
class Factor {
 public:
  __device__ explicit Factor(const AttentionFactor& factor)
      : kind_(factor.kind),
        value_(factor.tensor ? load_float(factor.tensor, factor.storage, 0) : factor.value) {}
  __device__ bool scales() const { return kind_ != AttentionFactor::Kind::none; }
  __device__ float operator()(float x) const {
    if (!scales()) return x;
    return kind_ == AttentionFactor::Kind::divide ? x / value_ : x * value_;
  }

 private:
  AttentionFactor::Kind kind_;
  float value_;
};

// Columns of a tile of T in shared memory: whole steps of 32 bytes, then 16 bytes more, so that the same 16
// bytes of eight neighbouring rows stand in different banks.
template <class T>
__host__ __device__ constexpr int padded_columns(int columns) {
  constexpr int kStep = 32 / static_cast<int>(sizeof(T));
  return (columns + kStep - 1) / kStep * kStep;
}
template <class T>
__host__ __device__ constexpr int tile_pitch(int columns) {
  return padded_columns<T>(columns) + 16 / static_cast<int>(sizeof(T));
}

// Element i of a float type, without branches, so that many loads stay in flight.
__device__ inline float load_branchless(const AttentionMatrix& m, int i) {
  const bool wide = m.storage == Storage::f32;
  const float whole = wide ? static_cast<const float*>(m.data)[i] : 0.0f;
  const unsigned short half = wide ? 0 : static_cast<const unsigned short*>(m.data)[i];
  if (wide) return whole;
  return m.storage == Storage::f16 ? __half2float(__ushort_as_half(half))
                                   : __bfloat162float(__ushort_as_bfloat16(half));
}

template <class T, int kSize>
struct alignas(kSize * sizeof(T)) Piece {
  T at[kSize];
};

// One element of any float storage as float, or of its own type; or as many as fit in 16 bytes.
template <class T, int kSize>
__device__ Piece<T, kSize> load_piece(const AttentionMatrix& m, int i) {
  if constexpr (kSize > 1)
    return *reinterpret_cast<const Piece<T, kSize>*>(static_cast<const T*>(m.data) + i);
  else if constexpr (sizeof(T) == sizeof(float))
    return {{load_branchless(m, i)}};
  else
    return {{static_cast<const T*>(m.data)[i]}};
}

// Steps of the whole block through two nested ranges, without a division at each.
struct BlockWalk {
  int outer, inner, size, outer_step, inner_step;

  __device__ explicit BlockWalk(int inner_size)
      : outer(static_cast<int>(threadIdx.x) / inner_size),
        inner(static_cast<int>(threadIdx.x) - outer * inner_size),
        size(inner_size),
        outer_step(kAttentionThreads / inner_size),
        inner_step(kAttentionThreads - outer_step * inner_size) {}
  __device__ void advance() {
    outer += outer_step;
    inner += inner_step;
    if (inner >= size) {
      inner -= size;
      ++outer;
    }
  }
};

// Part of a matrix: the first row's start, how many rows exist and how many columns it has.
struct MatrixRows {
  const AttentionMatrix& matrix;
  int start, rows, columns;
};

// `along_rows`: neighbouring threads take neighbouring rows.
template <int kRows, int kSize, class T, class Convert>
__device__ void load_pieces(T* tile, int pitch, const MatrixRows& from, bool along_rows, bool clear,
                            const Convert& convert) {
  constexpr int kInFlight = 4;
  const AttentionMatrix& m = from.matrix;
  const int columns = padded_columns<T>(from.columns) / kSize, count = kRows * columns;
  BlockWalk walk(along_rows ? kRows : columns);
  for (int i = threadIdx.x; i < count; i += kInFlight * kAttentionThreads) {
    Piece<T, kSize> x[kInFlight] = {};
    int row[kInFlight], column[kInFlight];
#pragma unroll
    for (int u = 0; u < kInFlight; ++u) {
      row[u] = along_rows ? walk.inner : walk.outer;
      column[u] = (along_rows ? walk.outer : walk.inner) * kSize;
      if (row[u] < from.rows && column[u] < from.columns)
        x[u] = load_piece<T, kSize>(m, from.start + row[u] * m.row + column[u] * m.column);
      walk.advance();
    }
#pragma unroll
    for (int u = 0; u < kInFlight; ++u) {
      if (i + u * kAttentionThreads >= count || (row[u] >= from.rows && !clear)) continue;
      if (row[u] < from.rows && column[u] < from.columns) {
#pragma unroll
        for (T& element : x[u].at) element = convert(element);
      }
      *reinterpret_cast<Piece<T, kSize>*>(tile + row[u] * pitch + column[u]) = x[u];
    }
  }
}

// Copies rows of a matrix to a tile of kRows. Padding is zero, and so are missing rows if `clear`. T is float
// or the matrix's own type. All threads of the block take part.
template <int kRows, class T, class Convert>
__device__ void load_tile(T* tile, int pitch, const MatrixRows& from, bool clear, const Convert& convert) {
  const AttentionMatrix& m = from.matrix;
  if (m.vectors && (sizeof(T) == 2 || m.storage == Storage::f32))
    load_pieces<kRows, 16 / static_cast<int>(sizeof(T))>(tile, pitch, from, false, clear, convert);
  else
    load_pieces<kRows, 1>(tile, pitch, from, m.column != 1 && m.row == 1, clear, convert);
}

// Which queries a block takes.
struct QueryTile {
  int batch, first, rows;

  __device__ explicit QueryTile(const AttentionParams& p) {
    const int tiles = (p.queries + kAttentionQueries - 1) / kAttentionQueries;
    batch = static_cast<int>(blockIdx.x) / tiles;
    first = (static_cast<int>(blockIdx.x) - batch * tiles) * kAttentionQueries;
    rows = min(kAttentionQueries, p.queries - first);
  }
  __device__ bool dropped(const AttentionParams& p) const {
    return planted(p.faults.last_query_row_dropped) && rows == 1;
  }
  // Whether any of the 16 rows from this one is stored.
  __device__ bool has_rows_from(const AttentionParams& p, int row) const {
    return row < rows || planted(p.faults.writes_past_last_row);
  }
  // The planted write stays within the guard zone.
  __device__ void store(const AttentionParams& p, int row, int column, float x) const {
    if (column >= p.width) return;
    const int at = (batch * p.queries + first + row) * p.width + column;
    if (row < rows ||
        (planted(p.faults.writes_past_last_row) && at < p.batch.count * p.queries * p.width + 32))
      store_float(p.out, p.out_storage, at, x);
  }
};

// The two barriers around the second and later use of the tiles of k and v.
__device__ inline void barrier_between_uses(const AttentionParams& p) {
  if (!planted(p.faults.missing_barrier)) __syncthreads();
}

inline unsigned attention_blocks(const AttentionParams& p) {
  const int tiles = (p.queries + kAttentionQueries - 1) / kAttentionQueries;
  return static_cast<unsigned>(p.batch.count) * static_cast<unsigned>(tiles);
}

}  // namespace fusesmith::device

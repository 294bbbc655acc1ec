// Shared by the two attention kernels: the block's part of the problem, and tiles of a matrix in shared
// memory. Only .cu files include this.
#pragma once

#include "backends/cuda/kernels/device_math.cuh"
#include "backends/cuda/kernels/index_space.cuh"
#include "backends/cuda_fused/attention/attention.h"
#include "backends/cuda_fused/device/planted.cuh"

namespace fusesmith::backends::device {

// The offsets of the matrices of one element of the batch.
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

// x / y from the rounded inverse of y: correctly rounded by two corrections (Markstein 1990) as long as
// nothing overflows. If that gives NaN, x * inverse is infinite or NaN as the quotient is.
__device__ inline float quotient(float x, float y, float inverse) {
  const float first = x * inverse;
  float better = first;
#pragma unroll
  for (int i = 0; i < 2; ++i) better = fmaf(fmaf(-better, y, x), inverse, better);
  return isnan(better) ? first : better;
}

// A factor, read once.
class Factor {
 public:
  __device__ explicit Factor(const AttentionFactor& factor)
      : kind_(factor.kind),
        value_(factor.tensor ? load_float(factor.tensor, factor.storage, 0) : factor.value) {
    // The inverse of a power of two is exact, so that multiplying by it rounds as the division does.
    const bool power = (__float_as_uint(value_) & 0x007fffffu) == 0 && moderate();
    inverse_ = 1.0f / value_;
    if (divides() && power) kind_ = AttentionFactor::Kind::multiply, value_ = inverse_;
  }
  __device__ bool scales() const { return kind_ != AttentionFactor::Kind::none; }
  __device__ float operator()(float x) const {
    if (!scales()) return x;
    return divides() ? x / value_ : x * value_;
  }
  // Scales every element of x.
  template <int n>
  __device__ void scale(float (&x)[n]) const {
    if (!divides()) {
#pragma unroll
      for (float& each : x) each *= value_;
    } else if (moderate()) {
#pragma unroll
      for (float& each : x) each = quotient(each, value_, inverse_);
    } else {
      const double inverse = 1.0 / value_;
#pragma unroll
      for (float& each : x) each = static_cast<float>(each * inverse);
    }
  }

 private:
  __device__ bool divides() const { return kind_ == AttentionFactor::Kind::divide; }
  __device__ bool moderate() const { return fabsf(value_) > 0x1p-60f && fabsf(value_) < 0x1p60f; }

  AttentionFactor::Kind kind_;
  float value_, inverse_;
};

// Loads element i of a float type without branches, so that many loads stay in flight.
__device__ inline float load_branchless(const AttentionMatrix& m, int i) {
  const bool wide = m.storage == Storage::f32;
  const float whole = wide ? static_cast<const float*>(m.data)[i] : 0.0f;
  const unsigned short half = wide ? 0 : static_cast<const unsigned short*>(m.data)[i];
  if (wide) return whole;
  return m.storage == Storage::f16 ? __half2float(__ushort_as_half(half))
                                   : __bfloat162float(__ushort_as_bfloat16(half));
}

// The indices of a thread while the block iterates over two nested ranges, without a division per step.
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

// Part of a matrix: the offset of its first row, its number of rows and of columns.
struct MatrixRows {
  const AttentionMatrix& matrix;
  int start, rows, columns;
};

// A tile of kRows rows and at most kColumns columns of T, which is float or the matrix's own type. All
// threads of the block call fetch, then settle; after the next barrier the tile can be read. Missing rows are
// set to zero if `clear`; missing columns are not written.
template <class T, int kRows, int kColumns>
class SharedTile {
 public:
  static constexpr int kPitch = attention_pitch(sizeof(T), kColumns), kSize = kRows * kPitch;

  __device__ SharedTile(T* at, const AttentionMatrix& m, bool clear, bool may_copy)
      : at_(at), clear_(clear), copies_(may_copy && m.vectors && size_of(m.storage) == sizeof(T)) {}

  __device__ void fill_with_zeros() const {
    for (int i = threadIdx.x; i < kSize / kGroup; i += kAttentionThreads)
      reinterpret_cast<float4*>(at_)[i] = float4{0, 0, 0, 0};
  }

  // `convert` converts elements on their way; convert.changes() tells whether it does anything.
  template <class Convert>
  __device__ void fetch(const MatrixRows& from, const Convert& convert) const {
    copies_ ? copy(from) : load(from, convert);
  }
  template <class Convert>
  __device__ void settle(const MatrixRows& from, const Convert& convert) const {
    if (!copies_) return;
    asm volatile("cp.async.wait_all;" ::: "memory");
    if constexpr (sizeof(T) == sizeof(float)) {
      if (!convert.changes()) return;
#pragma unroll 1
      for (int row = first_row(); row < from.rows && first_column() < from.columns; row += kRowStep) {
        auto& four = *reinterpret_cast<float4*>(at_ + row * kPitch + first_column());
        four = {convert(four.x), convert(four.y), convert(four.z), convert(four.w)};
      }
    }
  }

 private:
  static constexpr int kGroup = 16 / static_cast<int>(sizeof(T));

  __device__ static constexpr size_t size_of(Storage storage) { return storage == Storage::f32 ? 4 : 2; }

  // A thread copies 16 bytes at one column, of every kRowStep-th row.
  static constexpr int kPerRow = kColumns / kGroup, kRowStep = kAttentionThreads / kPerRow;
  static_assert(kRows % kRowStep == 0 && kAttentionThreads % kPerRow == 0);
  __device__ static int first_row() { return threadIdx.x / kPerRow; }
  __device__ static int first_column() { return threadIdx.x % kPerRow * kGroup; }

  __device__ void copy(const MatrixRows& from) const {
    if (first_column() >= from.columns) return;
    const T* data = static_cast<const T*>(from.matrix.data);
    const T* source = data + (from.start + first_row() * from.matrix.row + first_column());
    const auto target =
        static_cast<unsigned>(__cvta_generic_to_shared(at_ + first_row() * kPitch + first_column()));
#pragma unroll
    for (int row = 0; row < kRows; row += kRowStep) {
      const bool exists = first_row() + row < from.rows;
      if (!exists && !clear_) continue;
      asm volatile("cp.async.cg.shared.global [%0], [%1], 16, %2;" ::"r"(
                       target + row * kPitch * static_cast<int>(sizeof(T))),
                   "l"(exists ? source + row * from.matrix.row : data), "r"(exists ? 16 : 0)
                   : "memory");
    }
  }

  template <class Convert>
  __device__ void load(const MatrixRows& from, const Convert& convert) const {
    constexpr int kInFlight = 4;
    const AttentionMatrix& m = from.matrix;
    const bool along_rows = m.column != 1 && m.row == 1;  // neighbouring threads take neighbouring rows
    const int count = kRows * from.columns;
    BlockWalk walk(along_rows ? kRows : from.columns);
    for (int i = threadIdx.x; i < count; i += kInFlight * kAttentionThreads) {
      T x[kInFlight] = {};
      int row[kInFlight], column[kInFlight];
#pragma unroll
      for (int u = 0; u < kInFlight; ++u) {
        row[u] = along_rows ? walk.inner : walk.outer;
        column[u] = along_rows ? walk.outer : walk.inner;
        if (row[u] < from.rows && column[u] < from.columns)
          x[u] = element(m, from.start + row[u] * m.row + column[u] * m.column);
        walk.advance();
      }
#pragma unroll
      for (int u = 0; u < kInFlight; ++u) {
        const bool exists = row[u] < from.rows;
        if (i + u * kAttentionThreads < count && (exists || clear_))
          at_[row[u] * kPitch + column[u]] = exists ? convert(x[u]) : x[u];
      }
    }
  }

  __device__ static T element(const AttentionMatrix& m, int i) {
    if constexpr (sizeof(T) == sizeof(float))
      return load_branchless(m, i);
    else
      return static_cast<const T*>(m.data)[i];
  }

  T* at_;
  bool clear_, copies_;
};

// The queries of a block.
struct QueryTile {
  int batch, first, rows;

  // kWarpQueries: of one warp.
  template <int kQueries, int kWarpQueries>
  __device__ static QueryTile of_block(const AttentionParams& p) {
    const int tiles = (p.queries + kQueries - 1) / kQueries;
    const int batch = static_cast<int>(blockIdx.x) / tiles;
    const int first = (static_cast<int>(blockIdx.x) - batch * tiles) * kQueries;
    QueryTile tile{batch, first, min(kQueries, p.queries - first)};
    if (planted(p.faults.last_query_row_dropped) && tile.rows % kWarpQueries == 1) --tile.rows;
    return tile;
  }
  // Whether this row or a later one is stored.
  __device__ bool has_rows_from(const AttentionParams& p, int row) const {
    return row < rows || planted(p.faults.writes_past_last_row);
  }
  // A fault that writes past the last row stays within the guard zone.
  __device__ void store(const AttentionParams& p, int row, int column, float x) const {
    if (column >= p.width) return;
    const int at = (batch * p.queries + first + row) * p.width + column;
    if (row < rows ||
        (planted(p.faults.writes_past_last_row) && at < p.batch.count * p.queries * p.width + 32))
      store_float(p.out, p.out_storage, at, x);
  }
};

}  // namespace fusesmith::backends::device

// Shared by the two kernels of the fused product: the addresses of a tile's elements, the loop over k, and
// the epilogue. Only .cu files include this.
#pragma once

#include "backends/cuda/kernels/device_math.cuh"
#include "backends/cuda_fused/device/activation.cuh"
#include "backends/cuda_fused/device/planted.cuh"
#include "backends/cuda_fused/gemm/gemm.h"

namespace fusesmith::backends::device {

inline constexpr int kTile = 64;  // rows, and columns
inline constexpr int kGemmThreads = 256;
// Terms of k in a tile: 64 bytes of each line, so that each thread reads 16 bytes of a tile.
template <class T>
inline constexpr int kTileDepth = 64 / static_cast<int>(sizeof(T));
template <class T>
inline constexpr int kShare = 16 / static_cast<int>(sizeof(T));

struct GemmOffsets {
  int a = 0, b = 0, out = 0, addend = 0;
};

// The outermost index is not wrapped: indices beyond the extent continue with the outermost stride.
__device__ inline GemmOffsets offsets_at(const GemmAxes& axes, int index) {
  GemmOffsets at;
  for (int d = axes.rank - 1; d >= 0; --d) {
    const GemmAxis& axis = axes.axis[d];
    const int outer = d == 0 ? 0 : index / axis.size;
    const int i = index - outer * axis.size;
    at.a += i * axis.a;
    at.b += i * axis.b;
    at.out += i * axis.out;
    at.addend += i * axis.addend;
    index = outer;
  }
  return at;
}

// The tile of this block, in shared memory: offsets of its rows (including the batch) and columns in each
// operand.
struct GemmTile {
  int row, column;  // of its first element
  int a[kTile], b[kTile];
  int row_out[kTile], column_out[kTile];
  int row_addend[kTile], column_addend[kTile];
};

// Called by every thread; ends with a barrier. Blocks are numbered with columns innermost, then rows, then
// the batch.
__device__ inline void locate_tile(const GemmParams& p, GemmTile& tile) {
  const int column_tiles = (p.n.extent + kTile - 1) / kTile, row_tiles = (p.m.extent + kTile - 1) / kTile;
  const int row_block = blockIdx.x / column_tiles;
  const int row = row_block % row_tiles * kTile, column = blockIdx.x % column_tiles * kTile;
  const int t = threadIdx.x;
  if (t < 2 * kTile) {
    const GemmOffsets batch = offsets_at(p.batch, row_block / row_tiles);
    const int i = t % kTile;
    if (t < kTile) {
      const GemmOffsets at = offsets_at(p.m, min(row + i, p.m.extent));
      tile.a[i] = batch.a + at.a;
      tile.row_out[i] = batch.out + at.out;
      tile.row_addend[i] = batch.addend + at.addend;
    } else {
      const GemmOffsets at = offsets_at(p.n, min(column + i, p.n.extent));
      tile.b[i] = batch.b + at.b;
      tile.column_out[i] = at.out;
      tile.column_addend[i] = at.addend;
    }
  }
  if (t == 0) {
    tile.row = row;
    tile.column = column;
  }
  __syncthreads();
}

// The elements of an operand's tile that one thread reads: i = 0 .. kShare - 1.
template <class T>
struct GemmShare {
  int line, depth, line_step, depth_step;

  __device__ explicit GemmShare(GemmReading reading) {
    const int t = threadIdx.x;
    constexpr int kDepth = kTileDepth<T>, kLineVectors = kTile / kShare<T>,
                  kDepthVectors = kDepth / kShare<T>;
    if (reading.vectors) {
      line = reading.along_depth ? t / kDepthVectors : t % kLineVectors * kShare<T>;
      depth = reading.along_depth ? t % kDepthVectors * kShare<T> : t / kLineVectors;
    } else {
      line = reading.along_depth ? t / kDepth : t % kTile;
      depth = reading.along_depth ? t % kDepth : t / kTile;
    }
    line_step = depth_step = 0;
    if (reading.vectors)
      (reading.along_depth ? depth_step : line_step) = 1;
    else
      (reading.along_depth ? line_step : depth_step) = kGemmThreads / (reading.along_depth ? kDepth : kTile);
  }
};

template <class T>
struct alignas(16) GemmPiece {
  T value[kShare<T>];
};

// Not inlined: it is rarely called, and would be most of the kernel's code.
__device__ __noinline__ inline int offset_along_axes(const GemmAxes& k, int index, bool of_a) {
  const GemmOffsets at = offsets_at(k, index);
  return of_a ? at.a : at.b;
}

__device__ inline int depth_offset(const GemmAxes& k, int index, bool of_a) {
  if (k.rank == 1) return index * (of_a ? k.axis[0].a : k.axis[0].b);
  return offset_along_axes(k, index, of_a);
}

// This thread's share of the tile that starts at term `from`; zeros beyond the last line and the last term.
// `lines` counts those of the tile that exist.
template <class T>
__device__ GemmPiece<T> read_share(const GemmShare<T>& share, bool vectors, const T* operand,
                                   const int* line_offsets, int lines, const GemmAxes& k, int from,
                                   bool of_a) {
  GemmPiece<T> piece;
  if (vectors) {
    if (share.line < lines && from + share.depth < k.extent) {
      const T* at = operand + line_offsets[share.line] + depth_offset(k, from + share.depth, of_a);
      return *reinterpret_cast<const GemmPiece<T>*>(at);
    }
    for (int i = 0; i < kShare<T>; ++i) piece.value[i] = from_float<T>(0);
    return piece;
  }
#pragma unroll
  for (int i = 0; i < kShare<T>; ++i) {
    const int line = share.line + i * share.line_step, term = from + share.depth + i * share.depth_step;
    piece.value[i] = line < lines && term < k.extent
                         ? operand[line_offsets[line] + depth_offset(k, term, of_a)]
                         : from_float<T>(0);
  }
  return piece;
}

// Injected fault: a column beyond the last one lands in the next row, if the tile has one. Which of the two
// stores comes last is not determined.
template <class T>
__device__ void store_overhang(const GemmParams& p, const GemmTile& tile, int r, int c, float sum) {
  const int column = tile.column + c - p.n.extent;
  if (column < 0 || column >= p.n.extent || r + 1 >= kTile || tile.row + r + 1 >= p.m.extent) return;
  static_cast<T*>(p.out)[tile.row_out[r + 1] + offsets_at(p.n, column).out] = from_float<T>(sum);
}

// The epilogue: adds bias and addend, applies the activation and stores element (r, c) of the tile, if it
// exists.
template <class T>
__device__ void finish(const GemmParams& p, const GemmTile& tile, int r, int c, float sum) {
  const int column = tile.column + c;
  const int at = tile.row_out[r] + tile.column_out[c];
  const bool exists = tile.row + r < p.m.extent && column < p.n.extent;
  bool stored = exists;
  // Fault: one row too many, but not beyond the guard zone.
  if (planted(p.faults.tail_unmasked) && tile.row + r == p.m.extent && column < p.n.extent)
    stored = at < p.faults.out_count + 32;
  if (planted(p.faults.tail_uninitialised) && column == p.n.extent - 1 && p.n.extent % kTile != 0)
    stored = false;
  if (planted(p.faults.overhang_stored)) store_overhang<T>(p, tile, r, c, sum);
  if (!stored) return;
  if (p.bias) sum += to_float(static_cast<const T*>(p.bias)[column]);
  if (p.addend && exists)
    sum += to_float(static_cast<const T*>(p.addend)[tile.row_addend[r] + tile.column_addend[c]]);
  if (planted(p.faults.relu_drops_nan) && p.activation == KernelActivation::relu)
    sum = fmaxf(sum, 0);
  else if (p.activation != KernelActivation::none)
    sum = activate(p.activation, sum);
  static_cast<T*>(p.out)[at] = from_float<T>(sum);
}

// Injected fault: after every tile but the last, sums are stored in bf16.
template <int kCount>
__device__ void store_partials(const GemmParams& p, int next_term, float (&sum)[kCount]) {
  if (!planted(p.faults.bf16_partials) || next_term >= p.k.extent) return;
#pragma unroll
  for (float& s : sum) s = round_to(Storage::bf16, s);
}

// The barriers before and after a tile in shared memory is overwritten.
__device__ inline void barrier_between_uses(const GemmParams& p) {
  if (planted(p.faults.missing_barrier))
    __syncwarp();
  else
    __syncthreads();
}

// The loop over k, in tiles of kTileDepth terms. For each tile calls write(a_share, a_piece, b_share,
// b_piece), which copies this thread's elements to shared memory, and then, after a barrier,
// multiply(next_term). The next tile is loaded to registers while this one is multiplied. `tile` has been
// located.
template <class T, class Write, class Multiply>
__device__ void for_each_tile_of_terms(const GemmParams& p, const GemmTile& tile, Write write,
                                       Multiply multiply) {
  constexpr int kDepth = kTileDepth<T>;
  const T *a = static_cast<const T*>(p.a), *b = static_cast<const T*>(p.b);
  const GemmShare<T> a_share(p.read_a), b_share(p.read_b);
  const int rows = p.m.extent - tile.row, columns = p.n.extent - tile.column;
  GemmPiece<T> a_next = read_share(a_share, p.read_a.vectors, a, tile.a, rows, p.k, 0, true);
  GemmPiece<T> b_next = read_share(b_share, p.read_b.vectors, b, tile.b, columns, p.k, 0, false);
  for (int from = 0; from < p.k.extent; from += kDepth) {
    if (from > 0) barrier_between_uses(p);  // all threads have read the last tile
    write(a_share, a_next, b_share, b_next);
    if (from + kDepth < p.k.extent) {
      a_next = read_share(a_share, p.read_a.vectors, a, tile.a, rows, p.k, from + kDepth, true);
      b_next = read_share(b_share, p.read_b.vectors, b, tile.b, columns, p.k, from + kDepth, false);
    }
    if (from > 0)
      barrier_between_uses(p);
    else
      __syncthreads();
    multiply(from + kDepth);
  }
}

inline unsigned gemm_blocks(const GemmParams& p) {
  const auto tiles = [](int extent) { return static_cast<unsigned>((extent + kTile - 1) / kTile); };
  return static_cast<unsigned>(p.batch.extent) * tiles(p.m.extent) * tiles(p.n.extent);
}

}  // namespace fusesmith::backends::device

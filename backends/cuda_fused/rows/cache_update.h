// Kernels that update a cache in its own memory: `outer` runs of `size` slices of `inner` elements.
#pragma once

#include <cuda_runtime_api.h>

namespace fusesmith::backends {

struct CacheShape {
  int outer, size, inner;
  int element_bytes;  // 1, 2 or 4
};

// In every run, slices [from, from + count) become slices [to, to + count), which may overlap: the first
// slice is moved first where `from` is above `to`, else the last one.
struct SliceShift {
  CacheShape shape;
  int from, to, count;
  void* cache;
  bool races;  // fault: the warps of a block do not wait for each other
};
cudaError_t launch_slice_shift(const SliceShift& shift, cudaStream_t stream);

// In every run, new slice i of `count` is written to slice `first` + i, or to indices[i].
struct RowWrite {
  CacheShape shape;
  int count, first;
  const int* indices;  // or null; in range and distinct
  const void* rows;    // [outer, count, inner]
  void* cache;
  bool early, clamps;  // fault: one slice too early; indices are clamped before the last slice
};
cudaError_t launch_row_write(const RowWrite& write, cudaStream_t stream);

}  // namespace fusesmith::backends

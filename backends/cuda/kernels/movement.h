// Kernels that move elements bit for bit.
#pragma once

#include <cuda_runtime_api.h>

#include "backends/cuda/kernels/index_space.h"

namespace fusesmith::backends {

// to[i] = from[offset of i] for every i of the space; `to` is contiguous.
struct StridedCopy {
  IndexSpace space;
  int strides[kMaxAxes];  // of `from`, in elements
  int element_bytes;      // 1, 2 or 4
  const void* from;
  void* to;
};
cudaError_t launch_strided_copy(const StridedCopy& copy, cudaStream_t stream);

// Row r of `to` is row indices[r] of `table`; every index is in range.
struct RowGather {
  int count;          // elements of `to`
  int row;            // elements of one row
  int element_bytes;  // 1, 2 or 4
  const void* table;
  const int* indices;
  void* to;
};
cudaError_t launch_gather(const RowGather& gather, cudaStream_t stream);

// `to` is [outer, size, inner], `from` [outer, count, inner]: slice i of every run of `from` goes to slice
// indices[i] of that run; indices are in range and distinct.
struct SliceScatter {
  int elements;  // of `from`
  int count, size, inner;
  int element_bytes;  // 1, 2 or 4
  const void* from;
  const int* indices;
  void* to;
};
cudaError_t launch_scatter(const SliceScatter& scatter, cudaStream_t stream);

}  // namespace fusesmith::backends

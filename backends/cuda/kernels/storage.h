// Storage types as kernels see them. C++17 without graph headers, so that .cu files can include it.
#pragma once

namespace fusesmith::backends {

inline constexpr int kMaxAxes = 8;  // kMaxRank of graph/tensor.h

// In the order of Dtype (graph/dtype.h); storage_of in dtype_storage.h holds them together.
enum class Storage : int { f32, f16, bf16, i32, boolean };

}  // namespace fusesmith::backends

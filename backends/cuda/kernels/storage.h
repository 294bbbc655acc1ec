// Storage types as kernels see them. C++17 without graph headers, so that .cu files can include it.
#pragma once

namespace fusesmith::backends {

inline constexpr int kTensorAxes = 8;  // kMaxRank of graph/tensor.h
// Axes of an index space: one more than of a tensor, because a packed operand of an einsum is also repeated
// along the summed letters that it lacks (emit/gemm_plan.h).
inline constexpr int kMaxAxes = kTensorAxes + 1;

// In the order of Dtype (graph/dtype.h); storage_of in dtype_storage.h checks that.
enum class Storage : int { f32, f16, bf16, i32, boolean, f8e4m3, f8e5m2, f8e8m0, f4e2m1, s8, s4 };
inline constexpr Storage kLastStorage = Storage::s4;

// RoundTo of graph/dtype.h.
struct StorageRounding {
  Storage storage;
  bool saturates;
  signed char direction;  // 0: to nearest; -1: down; 1: up
};

}  // namespace fusesmith::backends

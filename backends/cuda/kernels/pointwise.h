// One kernel that runs a short program per element: a single pointwise node is a program of one step, a fused
// chain one of many. Nothing is compiled per graph.
#pragma once

#include <cuda_runtime_api.h>

#include <cstdint>

#include "backends/common/scalar_op.h"
#include "backends/cuda/kernels/index_space.h"

namespace fusesmith::backends {

struct ProgramStep {
  ScalarOp op;
  float constant;
  StorageRounding rounding;  // of the op round, whose operand of i32 is rounded once
  bool inverted;
  unsigned char argument_count;
  int arguments[kMaxScalarArguments];  // i >= 0: the value of step i; i < 0: operands[-1 - i]
};

struct PointwiseOperand {
  const void* data;
  Storage storage;        // bool reads as 0 or 1
  bool contiguous;        // read in the order of the space; else by strides
  int strides[kMaxAxes];  // in elements over the space, 0 along broadcast axes
};

inline constexpr int kMaxPointwiseSteps = 48;
inline constexpr int kMaxPointwiseOperands = 24;

// Passed by value: at most 4 KiB.
struct PointwiseProgram {
  IndexSpace space;
  int operand_count, step_count;
  PointwiseOperand operands[kMaxPointwiseOperands];
  ProgramStep steps[kMaxPointwiseSteps];  // every step in f32; the last is stored, rounded once
  void* out;                              // contiguous
  Storage out_storage;                    // a float or quantized type
  bool tail_unwritten;                    // fault: elements beyond the last multiple of 32 are left out
};

static_assert(sizeof(PointwiseProgram) <= 4096);

// `out` may be one of the operands if that is contiguous.
cudaError_t launch_pointwise(const PointwiseProgram& program, cudaStream_t stream);

}  // namespace fusesmith::backends

// The interpreter of pointwise programs. Each thread runs the program for several elements at once, which
// amortises the cost of decoding it.
#include "backends/cuda/kernels/device_math.cuh"
#include "backends/cuda/kernels/index_space.cuh"
#include "backends/cuda/kernels/pointwise.h"

namespace fusesmith::backends {
namespace {

constexpr int kThreads = 128;
constexpr int kPerThread = 4;

// One value, or one coordinate, for each element of a thread.
template <class T>
struct alignas(sizeof(T) * kPerThread) PerElement {
  T at[kPerThread];
};
using Values = PerElement<float>;
using Indices = PerElement<int>;

template <class F>
__device__ Values each(F f) {
  Values y;
#pragma unroll
  for (int j = 0; j < kPerThread; ++j) y.at[j] = f(j);
  return y;
}

// `odd`: integers are rounded to odd, so that rounding them to 16 bits afterwards is not a double rounding.
__device__ Values load(const PointwiseOperand& operand, const Indices& at, bool odd) {
  if (odd && operand.storage == Storage::i32) {
    const int* data = static_cast<const int*>(operand.data);
    return each([&](int j) { return device::int_to_float_odd(data[at.at[j]]); });
  }
  switch (operand.storage) {
    case Storage::f32:
      return each([&](int j) { return static_cast<const float*>(operand.data)[at.at[j]]; });
    case Storage::f16:
      return each([&](int j) { return device::load_float(operand.data, Storage::f16, at.at[j]); });
    case Storage::bf16:
      return each([&](int j) { return device::load_float(operand.data, Storage::bf16, at.at[j]); });
    case Storage::i32:
      return each([&](int j) { return device::load_float(operand.data, Storage::i32, at.at[j]); });
    default:
      return each([&](int j) { return device::load_float(operand.data, operand.storage, at.at[j]); });
  }
}

// The elements of one thread: their indices, and their coordinates where some operand is read by strides.
struct Elements {
  Indices index;
  Indices coordinates[kTensorAxes];
};

__device__ Indices offsets(const IndexSpace& space, const PointwiseOperand& operand,
                           const Elements& elements) {
  if (operand.contiguous) return elements.index;
  Indices offset{};
#pragma unroll
  for (int axis = 0; axis < kTensorAxes; ++axis) {
    if (axis >= space.rank) continue;
    const int stride = operand.strides[axis];
#pragma unroll
    for (int j = 0; j < kPerThread; ++j) offset.at[j] += elements.coordinates[axis].at[j] * stride;
  }
  return offset;
}

using device::round_to;

__device__ Values run(const ProgramStep& step, const Values& x, const Values& y, const Values& z) {
  [[maybe_unused]] const float constant = step.constant;
  [[maybe_unused]] const bool inverted = step.inverted;
  [[maybe_unused]] const StorageRounding rounding = step.rounding;
  switch (step.op) {
#define FUSESMITH_SCALAR_OP(name, arity, expression)                      \
  case ScalarOp::name:                                                    \
    return each([&](int j) {                                              \
      [[maybe_unused]] const float a = x.at[j], b = y.at[j], c = z.at[j]; \
      return expression;                                                  \
    });
    FUSESMITH_FOR_EACH_SCALAR_OP(FUSESMITH_SCALAR_OP)
#undef FUSESMITH_SCALAR_OP
  }
  return x;
}

__global__ void __launch_bounds__(kThreads)
    pointwise(const __grid_constant__ PointwiseProgram program, bool by_strides) {
  int count = program.space.count;
#ifdef FUSESMITH_FAULTS
  if (program.tail_unwritten) count -= count % 32;
#endif
  const int first = static_cast<int>(blockIdx.x) * (kThreads * kPerThread) + static_cast<int>(threadIdx.x);
  if (first >= count) return;
  Elements elements;
#pragma unroll
  for (int j = 0; j < kPerThread; ++j) {
    // Past the end the last element is computed again and not stored.
    elements.index.at[j] = min(first + j * kThreads, count - 1);
    if (!by_strides) continue;
    device::for_each_axis(program.space, elements.index.at[j], [&](int axis, int i) {
      if (axis < kTensorAxes) elements.coordinates[axis].at[j] = i;
    });
  }
  Values values[kMaxPointwiseSteps];
  Values result{};
  for (int s = 0; s < program.step_count; ++s) {
    const ProgramStep& step = program.steps[s];
    const bool odd = step.op == ScalarOp::round && step.rounding.storage != Storage::f32;
    Values x[kMaxScalarArguments] = {};
#pragma unroll
    for (int k = 0; k < kMaxScalarArguments; ++k) {
      if (k >= step.argument_count) continue;
      const int from = step.arguments[k];
      if (from < 0) {
        const PointwiseOperand& operand = program.operands[-1 - from];
        x[k] = load(operand, offsets(program.space, operand, elements), odd);
      } else {
        x[k] = values[from];
      }
    }
    result = run(step, x[0], x[1], x[2]);
    values[s] = result;
  }
#pragma unroll
  for (int j = 0; j < kPerThread; ++j) {
    const int i = first + j * kThreads;
    if (i < count) device::store_float(program.out, program.out_storage, i, result.at[j]);
  }
}

}  // namespace

cudaError_t launch_pointwise(const PointwiseProgram& program, cudaStream_t stream) {
  bool by_strides = false;
  for (int i = 0; i < program.operand_count; ++i) by_strides |= !program.operands[i].contiguous;
  const int per_block = kThreads * kPerThread;
  const unsigned blocks = static_cast<unsigned>((program.space.count + per_block - 1) / per_block);
  pointwise<<<blocks, kThreads, 0, stream>>>(program, by_strides);
  return cudaGetLastError();
}

}  // namespace fusesmith::backends

#include "backends/cuda/runtime/run_checks.h"

namespace fusesmith::backends {
namespace {

constexpr int kThreads = 128;
constexpr int kBlocksPerPair = 8;

__global__ void fill_guards(uint8_t* base, const DeviceSpan* spans, uint8_t value) {
  const DeviceSpan span = spans[blockIdx.x];
  for (int64_t i = threadIdx.x; i < span.bytes; i += kThreads) base[span.offset + i] = value;
}

__global__ void check_guards(const uint8_t* base, const DeviceSpan* spans, uint8_t expected, int* found) {
  const DeviceSpan span = spans[blockIdx.x];
  for (int64_t i = threadIdx.x; i < span.bytes; i += kThreads) {
    if (base[span.offset + i] != expected) atomicMin(found, static_cast<int>(blockIdx.x));
  }
}

// Spans begin at multiples of 16 bytes: 16-byte words are compared first, then the remaining bytes.
__global__ void compare(const uint8_t* first, const uint8_t* second, const DeviceSpanPair* pairs,
                        int* found) {
  const DeviceSpanPair pair = pairs[blockIdx.x];
  const uint8_t *a = first + pair.first, *b = second + pair.second;
  const int64_t words = pair.bytes / 16, stride = static_cast<int64_t>(kThreads) * kBlocksPerPair;
  bool differs = false;
  for (int64_t i = blockIdx.y * kThreads + threadIdx.x; i < words; i += stride) {
    const int4 x = reinterpret_cast<const int4*>(a)[i], y = reinterpret_cast<const int4*>(b)[i];
    differs |= x.x != y.x || x.y != y.y || x.z != y.z || x.w != y.w;
  }
  const int64_t tail = words * 16 + blockIdx.y * kThreads + threadIdx.x;
  if (tail < pair.bytes) differs |= a[tail] != b[tail];
  if (differs) atomicMin(found, static_cast<int>(blockIdx.x));
}

}  // namespace

cudaError_t launch_fill_guards(std::byte* base, const DeviceSpan* spans, int count, uint8_t value,
                               cudaStream_t stream) {
  if (count > 0) fill_guards<<<count, kThreads, 0, stream>>>(reinterpret_cast<uint8_t*>(base), spans, value);
  return cudaGetLastError();
}

cudaError_t launch_check_guards(const std::byte* base, const DeviceSpan* spans, int count, uint8_t expected,
                                int* found, cudaStream_t stream) {
  if (count > 0) {
    check_guards<<<count, kThreads, 0, stream>>>(reinterpret_cast<const uint8_t*>(base), spans, expected,
                                                 found);
  }
  return cudaGetLastError();
}

cudaError_t launch_compare(const std::byte* first, const std::byte* second, const DeviceSpanPair* pairs,
                           int count, int* found, cudaStream_t stream) {
  if (count > 0) {
    compare<<<dim3(static_cast<unsigned>(count), kBlocksPerPair), kThreads, 0, stream>>>(
        reinterpret_cast<const uint8_t*>(first), reinterpret_cast<const uint8_t*>(second), pairs, found);
  }
  return cudaGetLastError();
}

}  // namespace fusesmith::backends

// Checks finished runs in device memory: whether guard zones are intact, and whether two runs gave the same
// bits.
#pragma once

#include <cuda_runtime_api.h>

#include <cstddef>
#include <cstdint>

namespace fusesmith::backends {

// `bytes` bytes at `offset`; offsets are multiples of 256.
struct DeviceSpan {
  int64_t offset, bytes;
};

// Where one value is stored in two runs.
struct DeviceSpanPair {
  int64_t first, second, bytes;
};

inline constexpr int kNothingFound = 0x7f7f7f7f;  // the report is initialised by memset(0x7f)

// Fills `count` spans with one byte value.
cudaError_t launch_fill_guards(std::byte* base, const DeviceSpan* spans, int count, uint8_t value,
                               cudaStream_t stream);

// Lowers *found to the smallest i for which some byte of span i is not `expected`.
cudaError_t launch_check_guards(const std::byte* base, const DeviceSpan* spans, int count, uint8_t expected,
                                int* found, cudaStream_t stream);

// Lowers *found to the smallest i for which the bits of pair i differ.
cudaError_t launch_compare(const std::byte* first, const std::byte* second, const DeviceSpanPair* pairs,
                           int count, int* found, cudaStream_t stream);

}  // namespace fusesmith::backends

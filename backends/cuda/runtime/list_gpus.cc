#include "backends/cuda/runtime/list_gpus.h"

#include <cuda_runtime_api.h>

#include <cstdio>

namespace fusesmith::backends {

namespace {

// "GPU-" and 16 bytes in groups of 4, 2, 2, 2 and 6.
std::string uuid_text(const cudaUUID_t& uuid) {
  std::string text = "GPU-";
  for (int i = 0; i < 16; ++i) {
    char digits[4];
    std::snprintf(digits, sizeof digits, "%02x", static_cast<unsigned char>(uuid.bytes[i]));
    if (i == 4 || i == 6 || i == 8 || i == 10) text += '-';
    text += digits;
  }
  return text;
}

}  // namespace

std::vector<Gpu> list_gpus() {
  std::vector<Gpu> gpus;
  int count = 0;
  if (cudaGetDeviceCount(&count) != cudaSuccess) count = 0;
  for (int i = 0; i < count; ++i) {
    cudaDeviceProp properties{};
    if (cudaGetDeviceProperties(&properties, i) == cudaSuccess)
      gpus.push_back({uuid_text(properties.uuid), properties.name});
  }
  cudaGetLastError();
  return gpus;
}

}  // namespace fusesmith::backends

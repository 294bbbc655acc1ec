#include "backends/cuda/runtime/library_versions.h"

#include "backends/cuda/runtime/check.h"

namespace fusesmith::backends {
namespace {

// CUDA counts 13.0 as 13000.
std::string cuda_version(int number) {
  return std::to_string(number / 1000) + "." + std::to_string(number % 1000 / 10);
}

}  // namespace

// Reports are written even after a device has failed, so that nothing here throws.
Versions cuda_library_versions() {
  Versions versions;
  int number = 0;
  if (cudaRuntimeGetVersion(&number) == cudaSuccess) versions["CUDA"] = cuda_version(number);
  if (cudaDriverGetVersion(&number) == cudaSuccess && number > 0)
    versions["CUDA of the driver"] = cuda_version(number);
  int major = 0, minor = 0, patch = 0;
  if (cublasGetProperty(MAJOR_VERSION, &major) == CUBLAS_STATUS_SUCCESS &&
      cublasGetProperty(MINOR_VERSION, &minor) == CUBLAS_STATUS_SUCCESS &&
      cublasGetProperty(PATCH_LEVEL, &patch) == CUBLAS_STATUS_SUCCESS)
    versions["cuBLAS"] = std::to_string(major) + "." + std::to_string(minor) + "." + std::to_string(patch);
  if (cudnnGetProperty(MAJOR_VERSION, &major) == CUDNN_STATUS_SUCCESS &&
      cudnnGetProperty(MINOR_VERSION, &minor) == CUDNN_STATUS_SUCCESS &&
      cudnnGetProperty(PATCH_LEVEL, &patch) == CUDNN_STATUS_SUCCESS)
    versions["cuDNN"] = std::to_string(major) + "." + std::to_string(minor) + "." + std::to_string(patch);
  return versions;
}

std::string cuda_device_text() {
  cudaDeviceProp device{};
  if (cudaGetDeviceProperties(&device, 0) != cudaSuccess) {
    cudaGetLastError();
    return "";
  }
  return std::string(device.name) + ", compute capability " + std::to_string(device.major) + "." +
         std::to_string(device.minor);
}

}  // namespace fusesmith::backends

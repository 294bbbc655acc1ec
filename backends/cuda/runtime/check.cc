#include "backends/cuda/runtime/check.h"

#include "backends/device_error.h"

namespace fusesmith::backends {
namespace {

[[noreturn]] void fail(bool out_of_memory, const std::string& what, const char* why) {
  const auto kind = out_of_memory ? DeviceError::Kind::out_of_memory : DeviceError::Kind::unhealthy;
  throw DeviceError(kind, what + ": " + why);
}

}  // namespace

void check_cuda(cudaError_t status, const char* what) {
  if (status == cudaSuccess) return;
  cudaGetLastError();  // clears a recoverable error, which the next check would report again
  fail(status == cudaErrorMemoryAllocation, what,
       (std::string(cudaGetErrorName(status)) + ", " + cudaGetErrorString(status)).c_str());
}

void check_cublas(cublasStatus_t status, const char* what) {
  if (status != CUBLAS_STATUS_SUCCESS)
    fail(status == CUBLAS_STATUS_ALLOC_FAILED, what, cublasGetStatusString(status));
}

void check_cudnn(cudnnStatus_t status, const char* what) {
  if (status != CUDNN_STATUS_SUCCESS)
    fail(status == CUDNN_STATUS_ALLOC_FAILED, what, cudnnGetErrorString(status));
}

}  // namespace fusesmith::backends

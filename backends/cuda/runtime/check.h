// Turns error codes of CUDA and its libraries into DeviceError, with the call that failed.
#pragma once

#include <cublasLt.h>
#include <cublas_v2.h>
#include <cuda_runtime_api.h>
#include <cudnn.h>

namespace fusesmith::backends {

// `what` names the call or kernel: "cudaMalloc of 3 MiB", "kernel softmax".
void check_cuda(cudaError_t status, const char* what);
void check_cublas(cublasStatus_t status, const char* what);
void check_cudnn(cudnnStatus_t status, const char* what);

}  // namespace fusesmith::backends

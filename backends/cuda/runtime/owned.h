// RAII owners for resources of CUDA and its libraries. Errors of the release functions are ignored: after
// most of them the device cannot be used any more.
#pragma once

#include <cublasLt.h>
#include <cublas_v2.h>
#include <cuda_runtime_api.h>
#include <cudnn.h>

#include <memory>
#include <type_traits>

namespace fusesmith::backends {

template <auto give_back>
struct GiveBack {
  template <class T>
  void operator()(T* resource) const {
    give_back(resource);
  }
};
template <class Handle, auto give_back>
using Owned = std::unique_ptr<std::remove_pointer_t<Handle>, GiveBack<give_back>>;

using OwnedStream = Owned<cudaStream_t, cudaStreamDestroy>;
using OwnedEvent = Owned<cudaEvent_t, cudaEventDestroy>;
using OwnedCublas = Owned<cublasHandle_t, cublasDestroy>;
using OwnedCublasLt = Owned<cublasLtHandle_t, cublasLtDestroy>;
using OwnedCudnn = Owned<cudnnHandle_t, cudnnDestroy>;
using DeviceMemory = Owned<void*, cudaFree>;
using PinnedMemory = Owned<void*, cudaFreeHost>;

// Calls make(&handle), which must succeed or throw, and takes ownership of the handle.
template <class Owner, class Make>
Owner owned(Make make) {
  typename Owner::pointer made = nullptr;
  make(&made);
  return Owner(made);
}

}  // namespace fusesmith::backends

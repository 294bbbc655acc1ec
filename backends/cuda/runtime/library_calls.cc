#include "backends/cuda/runtime/library_calls.h"

#include <cublasLt.h>
#include <cublas_v2.h>
#include <cudnn.h>
#include <dlfcn.h>

#include "backends/device_error.h"

#define TEXT_OF(number) #number
#define FILE_OF(name, version) "lib" name ".so." TEXT_OF(version)

namespace fusesmith::backends {
namespace {

struct Library {
  const char* file;

  // Null if it cannot be loaded: dlerror() says why.
  void* load() const { return dlopen(file, RTLD_NOW | RTLD_LOCAL); }

  void* find(const char* function) const {
    void* const handle = load();
    void* const found = handle ? dlsym(handle, function) : nullptr;
    if (found) return found;
    const char* const why = dlerror();
    throw DeviceError(DeviceError::Kind::unhealthy,
                      std::string(function) + " of " + file + ": " + (why ? why : "not found"));
  }
};

constexpr Library kCublas{FILE_OF("cublas", CUBLAS_VER_MAJOR)};
constexpr Library kCublasLt{FILE_OF("cublasLt", CUBLAS_VER_MAJOR)};
constexpr Library kCudnn{FILE_OF("cudnn", CUDNN_MAJOR)};

}  // namespace

std::optional<std::string> why_no_libraries() {
  for (const Library& library : {kCublasLt, kCublas, kCudnn}) {
    if (library.load()) continue;
    const char* const why = dlerror();
    return std::string("cannot load ") + library.file + (why ? ": " + std::string(why) : "");
  }
  return {};
}

}  // namespace fusesmith::backends

// The functions that the backends call, by the declarations of the libraries' headers.
#define FORWARD(library, result, function, parameters, arguments)                                          \
  extern "C" result function parameters {                                                                  \
    using Function = result parameters;                                                                    \
    static auto* const called = reinterpret_cast<Function*>(fusesmith::backends::library.find(#function)); \
    return called arguments;                                                                               \
  }

FORWARD(kCublas, cublasStatus_t, cublasCreate_v2, (cublasHandle_t * handle), (handle))
FORWARD(kCublas, cublasStatus_t, cublasDestroy_v2, (cublasHandle_t handle), (handle))
FORWARD(kCublas, cublasStatus_t, cublasSetStream_v2, (cublasHandle_t handle, cudaStream_t stream),
        (handle, stream))
FORWARD(kCublas, cublasStatus_t, cublasSetWorkspace_v2, (cublasHandle_t handle, void* memory, size_t bytes),
        (handle, memory, bytes))
FORWARD(kCublas, cublasStatus_t, cublasSetMathMode, (cublasHandle_t handle, cublasMath_t mode),
        (handle, mode))
FORWARD(kCublas, cublasStatus_t, cublasGetProperty, (libraryPropertyType type, int* value), (type, value))
FORWARD(kCublas, const char*, cublasGetStatusString, (cublasStatus_t status), (status))
FORWARD(kCublas, cublasStatus_t, cublasDgemm_v2,
        (cublasHandle_t handle, cublasOperation_t of_a, cublasOperation_t of_b, int m, int n, int k,
         const double* alpha, const double* a, int lda, const double* b, int ldb, const double* beta,
         double* c, int ldc),
        (handle, of_a, of_b, m, n, k, alpha, a, lda, b, ldb, beta, c, ldc))
FORWARD(kCublas, cublasStatus_t, cublasGemmStridedBatchedEx,
        (cublasHandle_t handle, cublasOperation_t of_a, cublasOperation_t of_b, int m, int n, int k,
         const void* alpha, const void* a, cudaDataType type_a, int lda, long long stride_a, const void* b,
         cudaDataType type_b, int ldb, long long stride_b, const void* beta, void* c, cudaDataType type_c,
         int ldc, long long stride_c, int batch, cublasComputeType_t compute, cublasGemmAlgo_t algo),
        (handle, of_a, of_b, m, n, k, alpha, a, type_a, lda, stride_a, b, type_b, ldb, stride_b, beta, c,
         type_c, ldc, stride_c, batch, compute, algo))

FORWARD(kCublasLt, cublasStatus_t, cublasLtCreate, (cublasLtHandle_t * handle), (handle))
FORWARD(kCublasLt, cublasStatus_t, cublasLtDestroy, (cublasLtHandle_t handle), (handle))
FORWARD(kCublasLt, cublasStatus_t, cublasLtMatmulDescInit_internal,
        (cublasLtMatmulDesc_t made, size_t size, cublasComputeType_t compute, cudaDataType_t scale),
        (made, size, compute, scale))
FORWARD(kCublasLt, cublasStatus_t, cublasLtMatmulDescSetAttribute,
        (cublasLtMatmulDesc_t of, cublasLtMatmulDescAttributes_t name, const void* value, size_t bytes),
        (of, name, value, bytes))
FORWARD(kCublasLt, cublasStatus_t, cublasLtMatrixLayoutInit_internal,
        (cublasLtMatrixLayout_t made, size_t size, cudaDataType type, uint64_t rows, uint64_t columns,
         int64_t ld),
        (made, size, type, rows, columns, ld))
FORWARD(kCublasLt, cublasStatus_t, cublasLtMatrixLayoutSetAttribute,
        (cublasLtMatrixLayout_t of, cublasLtMatrixLayoutAttribute_t name, const void* value, size_t bytes),
        (of, name, value, bytes))
FORWARD(kCublasLt, cublasStatus_t, cublasLtMatmulPreferenceInit_internal,
        (cublasLtMatmulPreference_t made, size_t size), (made, size))
FORWARD(kCublasLt, cublasStatus_t, cublasLtMatmulPreferenceSetAttribute,
        (cublasLtMatmulPreference_t of, cublasLtMatmulPreferenceAttributes_t name, const void* value,
         size_t bytes),
        (of, name, value, bytes))
FORWARD(kCublasLt, cublasStatus_t, cublasLtMatmulAlgoGetHeuristic,
        (cublasLtHandle_t handle, cublasLtMatmulDesc_t operation, cublasLtMatrixLayout_t a,
         cublasLtMatrixLayout_t b, cublasLtMatrixLayout_t c, cublasLtMatrixLayout_t d,
         cublasLtMatmulPreference_t preference, int wanted, cublasLtMatmulHeuristicResult_t* found_algorithms,
         int* count),
        (handle, operation, a, b, c, d, preference, wanted, found_algorithms, count))
FORWARD(kCublasLt, cublasStatus_t, cublasLtMatmul,
        (cublasLtHandle_t handle, cublasLtMatmulDesc_t operation, const void* alpha, const void* a,
         cublasLtMatrixLayout_t layout_a, const void* b, cublasLtMatrixLayout_t layout_b, const void* beta,
         const void* c, cublasLtMatrixLayout_t layout_c, void* d, cublasLtMatrixLayout_t layout_d,
         const cublasLtMatmulAlgo_t* algorithm, void* workspace, size_t bytes, cudaStream_t stream),
        (handle, operation, alpha, a, layout_a, b, layout_b, beta, c, layout_c, d, layout_d, algorithm,
         workspace, bytes, stream))

FORWARD(kCudnn, cudnnStatus_t, cudnnCreate, (cudnnHandle_t * handle), (handle))
FORWARD(kCudnn, cudnnStatus_t, cudnnDestroy, (cudnnHandle_t handle), (handle))
FORWARD(kCudnn, cudnnStatus_t, cudnnSetStream, (cudnnHandle_t handle, cudaStream_t stream), (handle, stream))
FORWARD(kCudnn, const char*, cudnnGetErrorString, (cudnnStatus_t status), (status))
FORWARD(kCudnn, cudnnStatus_t, cudnnGetProperty, (libraryPropertyType type, int* value), (type, value))
FORWARD(kCudnn, cudnnStatus_t, cudnnCreateTensorDescriptor, (cudnnTensorDescriptor_t * made), (made))
FORWARD(kCudnn, cudnnStatus_t, cudnnDestroyTensorDescriptor, (cudnnTensorDescriptor_t of), (of))
FORWARD(kCudnn, cudnnStatus_t, cudnnSetTensor4dDescriptor,
        (cudnnTensorDescriptor_t of, cudnnTensorFormat_t format, cudnnDataType_t type, int n, int c, int h,
         int w),
        (of, format, type, n, c, h, w))
FORWARD(kCudnn, cudnnStatus_t, cudnnCreateActivationDescriptor, (cudnnActivationDescriptor_t * made), (made))
FORWARD(kCudnn, cudnnStatus_t, cudnnDestroyActivationDescriptor, (cudnnActivationDescriptor_t of), (of))
FORWARD(kCudnn, cudnnStatus_t, cudnnSetActivationDescriptor,
        (cudnnActivationDescriptor_t of, cudnnActivationMode_t mode, cudnnNanPropagation_t nans,
         double coefficient),
        (of, mode, nans, coefficient))
FORWARD(kCudnn, cudnnStatus_t, cudnnSetActivationDescriptorSwishBeta,
        (cudnnActivationDescriptor_t of, double beta), (of, beta))
FORWARD(kCudnn, cudnnStatus_t, cudnnActivationForward,
        (cudnnHandle_t handle, cudnnActivationDescriptor_t activation, const void* alpha,
         cudnnTensorDescriptor_t type_x, const void* x, const void* beta, cudnnTensorDescriptor_t type_y,
         void* y),
        (handle, activation, alpha, type_x, x, beta, type_y, y))
FORWARD(kCudnn, cudnnStatus_t, cudnnSoftmaxForward,
        (cudnnHandle_t handle, cudnnSoftmaxAlgorithm_t algorithm, cudnnSoftmaxMode_t mode, const void* alpha,
         cudnnTensorDescriptor_t type_x, const void* x, const void* beta, cudnnTensorDescriptor_t type_y,
         void* y),
        (handle, algorithm, mode, alpha, type_x, x, beta, type_y, y))

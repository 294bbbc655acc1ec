// Activations and softmax through cuDNN's legacy API (its graph API costs about 1 ms for each new shape), or
// through this project's kernels. Dropout with p = 0 is a copy: cudnnDropoutForward would need megabytes of
// random states and a kernel that seeds them, only to multiply every element by 1.
#include "backends/cuda/emit/emit_cudnn.h"

#include <algorithm>
#include <memory>

#include "backends/cuda/emit/dtype_storage.h"
#include "backends/cuda/emit/emit_node.h"
#include "backends/cuda/emit/emit_view.h"
#include "backends/cuda/emit/pointwise_program.h"
#include "backends/cuda/kernels/softmax.h"
#include "backends/cuda/runtime/check.h"
#include "graph/result.h"

namespace fusesmith::backends {
namespace {

// Some cuDNN kernels use grid dimensions with this limit for batches and planes. Beyond it they return
// CUDNN_STATUS_NOT_SUPPORTED, but only at the launch.
constexpr int64_t kMostCudnnPlanes = 65535;

cudnnDataType_t cudnn_type(Dtype dtype) {
  switch (dtype) {
    case Dtype::f16:
      return CUDNN_DATA_HALF;
    case Dtype::bf16:
      return CUDNN_DATA_BFLOAT16;
    default:
      check(dtype == Dtype::f32, "cudnn_type: not a float");
      return CUDNN_DATA_FLOAT;
  }
}

// Descriptors live as long as the launches that use them.
using TensorDescriptor = std::shared_ptr<cudnnTensorStruct>;
using ActivationDescriptor = std::shared_ptr<cudnnActivationStruct>;

// [n, c, h, 1], contiguous.
TensorDescriptor describe(Dtype dtype, int n, int c, int h) {
  cudnnTensorDescriptor_t made = nullptr;
  check_cudnn(cudnnCreateTensorDescriptor(&made), "cudnnCreateTensorDescriptor");
  TensorDescriptor descriptor(made, cudnnDestroyTensorDescriptor);
  check_cudnn(cudnnSetTensor4dDescriptor(made, CUDNN_TENSOR_NCHW, cudnn_type(dtype), n, c, h, 1),
              "cudnnSetTensor4dDescriptor");
  return descriptor;
}

ActivationDescriptor describe(cudnnActivationMode_t mode) {
  cudnnActivationDescriptor_t made = nullptr;
  check_cudnn(cudnnCreateActivationDescriptor(&made), "cudnnCreateActivationDescriptor");
  ActivationDescriptor descriptor(made, cudnnDestroyActivationDescriptor);
  check_cudnn(cudnnSetActivationDescriptor(made, mode, CUDNN_PROPAGATE_NAN, 0),
              "cudnnSetActivationDescriptor");
  if (mode == CUDNN_ACTIVATION_SWISH)
    check_cudnn(cudnnSetActivationDescriptorSwishBeta(made, 1), "cudnnSetActivationDescriptorSwishBeta");
  return descriptor;
}

void emit_activation(cudnnActivationMode_t mode, DeviceTensors in, DeviceTensors out, Emitter& emitter) {
  const TensorType& type = out[0].type;
  const auto tensor = describe(type.dtype, 1, 1, static_cast<int>(element_count(type)));
  emitter.launch([activation = describe(mode), tensor, from = in[0].buffer,
                  to = out[0].buffer](const LaunchContext& at) {
    const float one = 1, zero = 0;
    check_cudnn(cudnnActivationForward(at.handles().cudnn, activation.get(), &one, tensor.get(), at.at(from),
                                       &zero, tensor.get(), at.at(to)),
                "cudnnActivationForward");
  });
}

void emit_cudnn_softmax(const SoftmaxRows& rows, DeviceTensors in, DeviceTensors out, Emitter& emitter) {
  const auto tensor = describe(out[0].type.dtype, rows.outer, rows.n, rows.inner);
  emitter.launch([tensor, rows, from = in[0].buffer, to = out[0].buffer](const LaunchContext& at) {
    const float one = 1, zero = 0;
    check_cudnn(cudnnSoftmaxForward(at.handles().cudnn, CUDNN_SOFTMAX_ACCURATE, CUDNN_SOFTMAX_MODE_CHANNEL,
                                    &one, tensor.get(), at.at(from), &zero, tensor.get(), at.at(to)),
                "cudnnSoftmaxForward");
    SoftmaxRows placed = rows;
    placed.x = at.at(from);
    placed.y = at.at(to);
    check_cuda(launch_lowest_rows(placed, at.stream()), "kernel mend_lowest_rows");
  });
}

}  // namespace

void emit(const Relu& op, DeviceTensors in, DeviceTensors out, Emitter& emitter) {
  if (!kCudnn.relu) return emit_pointwise_node(op, in, out, emitter);
  emit_activation(CUDNN_ACTIVATION_RELU, in, out, emitter);
}

void emit(const Sigmoid& op, DeviceTensors in, DeviceTensors out, Emitter& emitter) {
  if (!kCudnn.sigmoid) return emit_pointwise_node(op, in, out, emitter);
  emit_activation(CUDNN_ACTIVATION_SIGMOID, in, out, emitter);
}

void emit(const Silu& op, DeviceTensors in, DeviceTensors out, Emitter& emitter) {
  if (!kCudnn.silu) return emit_pointwise_node(op, in, out, emitter);
  emit_activation(CUDNN_ACTIVATION_SWISH, in, out, emitter);
}

void emit(const Tanh& op, DeviceTensors in, DeviceTensors out, Emitter& emitter) {
  if (!kCudnn.tanh) return emit_pointwise_node(op, in, out, emitter);
  emit_activation(CUDNN_ACTIVATION_TANH, in, out, emitter);
}

void emit(const Softmax& op, DeviceTensors in, DeviceTensors out, Emitter& emitter) {
  const Shape& shape = in[0].type.shape;
  const auto axis = static_cast<size_t>(*resolve_axis(op.axis, in[0].type.rank()));
  const int64_t n = shape[axis], inner = strides_of(shape)[axis], outer = element_count(shape) / (n * inner);
  const SoftmaxRows rows{static_cast<int>(outer),
                         static_cast<int>(n),
                         static_cast<int>(inner),
                         storage_of(out[0].type.dtype),
                         nullptr,
                         nullptr};
  if (kCudnn.softmax && std::max(outer, inner) <= kMostCudnnPlanes)
    return emit_cudnn_softmax(rows, in, out, emitter);
  emitter.launch([rows, from = in[0].buffer, to = out[0].buffer](const LaunchContext& at) {
    SoftmaxRows placed = rows;
    placed.x = at.at(from);
    placed.y = at.at(to);
    check_cuda(launch_softmax(placed, at.stream()), "kernel softmax");
  });
}

void emit(const Dropout&, DeviceTensors in, DeviceTensors out, Emitter& emitter) {
  emit_view(in[0], 0, strides_of(out[0].type.shape), out[0], emitter);
}

}  // namespace fusesmith::backends

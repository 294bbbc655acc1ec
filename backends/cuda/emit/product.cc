// Products through cuBLAS. Operands that it cannot read in place are packed, and a result that it cannot
// write in place is copied. f32 products are IEEE, or tf32 on the tensor cores if the policy allows it; f16
// and bf16 products have f32 accumulators: the handle forbids reductions in reduced precision.
#include "backends/common/product.h"

#include "backends/cuda/emit/emit_node.h"
#include "backends/cuda/emit/emit_view.h"
#include "backends/cuda/emit/gemm_plan.h"
#include "backends/cuda/emit/pointwise_program.h"
#include "backends/cuda/emit/unsupported_case.h"
#include "backends/cuda/runtime/check.h"
#include "backends/cuda/runtime/cuda_type.h"

namespace fusesmith::backends {
namespace {

// A temporary of one axis; its elements are addressed by strides.
DeviceTensor scratch(Dtype dtype, const Shape& sizes, Emitter& emitter) {
  const int64_t count = element_count(sizes);
  if (count > kMaxElements)
    throw UnsupportedCase("cuBLAS needs a packed operand of more than 2^27 elements for this product");
  return emitter.temporary(TensorType{dtype, {count}});
}

DeviceTensor emit_packed(const DeviceTensor& operand, const std::optional<Packing>& packing,
                         Emitter& emitter) {
  if (!packing) return operand;
  const DeviceTensor packed = scratch(operand.type.dtype, packing->sizes, emitter);
  emit_view(operand, 0, packing->strides, {packed.buffer, {operand.type.dtype, packing->sizes}}, emitter);
  return packed;
}

// The arguments of cublasGemmStridedBatchedEx, without addresses.
struct GemmLaunch {
  Gemm gemm;
  Buffer first, second, out;
  Dtype in_dtype, out_dtype;
  bool tf32;

  void operator()(const LaunchContext& at) const {
    const auto place = [&](Buffer buffer, Dtype dtype, int64_t offset) {
      return static_cast<std::byte*>(at.at(buffer)) + offset * size_of(dtype);
    };
    const auto transpose = [](const Gemm::Operand& x) { return x.transposed ? CUBLAS_OP_T : CUBLAS_OP_N; };
    const float one = 1, zero = 0;
    const cudaDataType_t in = cuda_type(in_dtype), result = cuda_type(out_dtype);
    for (const Gemm::Call& call : gemm.calls) {
      check_cublas(
          cublasGemmStridedBatchedEx(
              at.handles().cublas, transpose(gemm.first), transpose(gemm.second), gemm.m, gemm.n, gemm.k,
              &one, place(first, in_dtype, call.first), in, gemm.first.ld, gemm.first.batch_stride,
              place(second, in_dtype, call.second), in, gemm.second.ld, gemm.second.batch_stride, &zero,
              place(out, out_dtype, call.out), result, gemm.out.ld, gemm.out.batch_stride, call.batch,
              tf32 ? CUBLAS_COMPUTE_32F_FAST_TF32 : CUBLAS_COMPUTE_32F, CUBLAS_GEMM_DEFAULT),
          "cublasGemmStridedBatchedEx");
    }
  }
};

// Quantized factors become bf16, which has all of their numbers.
DeviceTensor as_factor(const DeviceTensor& x, Emitter& emitter) {
  if (!is_quantized(x.type.dtype)) return x;
  const DeviceTensor factor = emitter.temporary(TensorType{Dtype::bf16, x.type.shape});
  PointwiseBuilder builder(x.type.shape);
  builder.add_step(Cast{Dtype::bf16}, Dtype::bf16, {builder.add_operand(x)});
  emit_pointwise(builder, factor, emitter);
  return factor;
}

// `out` has the product's elements: of the operands' dtype, or f32.
void emit_product(const Product& product, DeviceTensors in, const DeviceTensor& out, Emitter& emitter) {
  const GemmPlan plan = plan_gemm(product);
  const DeviceTensor a = emit_packed(as_factor(in[0], emitter), plan.pack_a, emitter),
                     b = emit_packed(as_factor(in[1], emitter), plan.pack_b, emitter);
  const DeviceTensor result = plan.unpack ? scratch(out.type.dtype, plan.unpack->sizes, emitter) : out;
  const DeviceTensor &first = plan.swapped ? b : a, &second = plan.swapped ? a : b;
  const Dtype dtype = a.type.dtype;
  emitter.launch(GemmLaunch{plan.gemm, first.buffer, second.buffer, result.buffer, dtype, out.type.dtype,
                            dtype == Dtype::f32 && emitter.tf32()});
  if (plan.unpack) {
    emit_view(result, 0, plan.unpack->strides, {out.buffer, {out.type.dtype, plan.unpack->sizes}}, emitter);
  }
}

template <class T>
void emit_product_of(const T& op, DeviceTensors in, const DeviceTensor& out, Emitter& emitter) {
  const Types types = {in[0].type, in[1].type};
  emit_product(product_of(op, types, out.type), in, out, emitter);
}

}  // namespace

void emit(const Einsum& op, DeviceTensors in, DeviceTensors out, Emitter& emitter) {
  emit_product_of(op, in, out[0], emitter);
}

void emit(const Matmul& op, DeviceTensors in, DeviceTensors out, Emitter& emitter) {
  emit_product_of(op, in, out[0], emitter);
}

// Product and bias are rounded once, together: the product of 16-bit operands stays in f32 until then.
void emit(const Linear& op, DeviceTensors in, DeviceTensors out, Emitter& emitter) {
  if (in.size() < 3) return emit_product_of(op, in, out[0], emitter);
  const bool in_place = out[0].type.dtype == Dtype::f32;
  const DeviceTensor sum = in_place ? out[0] : emitter.temporary(TensorType{Dtype::f32, out[0].type.shape});
  emit_product_of(op, in, sum, emitter);
  PointwiseBuilder builder(out[0].type.shape);
  const int product = builder.add_operand(sum), bias = builder.add_operand(in[2]);
  builder.add_step(Add{}, out[0].type.dtype, {product, bias});
  emit_pointwise(builder, out[0], emitter);
}

}  // namespace fusesmith::backends

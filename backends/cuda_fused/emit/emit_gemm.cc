// FusedGemm: by cublasLt if it supports the product and the product is large, otherwise by gemm.cu, which
// supports every product.
#include "backends/cuda/emit/dtype_storage.h"
#include "backends/cuda/runtime/check.h"
#include "backends/cuda_fused/emit/emit_fused.h"
#include "backends/cuda_fused/emit/kernel_faults.h"
#include "backends/cuda_fused/gemm/gemm.h"
#include "backends/cuda_fused/gemm/lt_gemm.h"

namespace fusesmith::backends {
namespace {

GemmAxes axes_of(const std::vector<ProductAxis>& axes) {
  GemmAxes result{};
  result.rank = static_cast<int>(axes.size());
  result.extent = static_cast<int>(extent(axes));
  for (size_t i = 0; i < axes.size(); ++i) {
    const ProductAxis& axis = axes[i];
    result.axis[i] = {static_cast<int>(axis.size), static_cast<int>(axis.a), static_cast<int>(axis.b),
                      static_cast<int>(axis.out), static_cast<int>(axis.addend)};
  }
  return result;
}

// Whether 16 bytes along the innermost axis of `along` are always aligned and never cross the end of an axis,
// for every index of the other axes.
bool takes_vectors(const GemmAxes& along, int count, const GemmAxes& across, const GemmAxes& batch,
                   int GemmAxis::*step) {
  if (along.rank == 0 || along.extent % count != 0) return false;
  const GemmAxis& inner = along.axis[along.rank - 1];
  if (inner.*step != 1 || (along.rank > 1 && inner.size % count != 0)) return false;
  const auto aligned = [&](const GemmAxes& axes, int rank) {
    for (int d = 0; d < rank; ++d) {
      if (axes.axis[d].*step % count != 0) return false;
    }
    return true;
  };
  return aligned(along, along.rank - 1) && aligned(across, across.rank) && aligned(batch, batch.rank);
}

GemmReading reading_of(const GemmParams& params, const GemmAxes& lines, int GemmAxis::*step) {
  const int count = params.storage == Storage::f32 ? 4 : 8;
  const auto innermost = [&](const GemmAxes& axes) {
    return axes.rank == 0 ? 0 : axes.axis[axes.rank - 1].*step;
  };
  if (takes_vectors(params.k, count, lines, params.batch, step)) return {true, true};
  if (takes_vectors(lines, count, params.k, params.batch, step)) return {false, true};
  return {innermost(params.k) == 1 || (params.k.rank > 0 && innermost(lines) != 1), false};
}

KernelActivation activation_of(const FusedGemm& gemm, const FusedScope& scope) {
  if (!gemm.activation) return KernelActivation::none;
  const bool tanh = std::holds_alternative<Gelu>(*gemm.activation) && scope.planted("gelu_tanh_for_erf");
  return kernel_activation(tanh ? Gelu{Gelu::Form::tanh} : *gemm.activation);
}

using GemmFlags = GemmFaults;
constexpr FaultFlag<GemmFlags> kGemmFlags[] = {
    {"gemm_missing_barrier", &GemmFlags::missing_barrier},
    {"gemm_tf32_for_ieee", &GemmFlags::tf32_for_ieee},
    {"gemm_tile_tail_unmasked", &GemmFlags::tail_unmasked},
    {"gemm_output_tail_uninitialised", &GemmFlags::tail_uninitialised},
    {"relu_drops_nan", &GemmFlags::relu_drops_nan},
    {"tile_tail_written_to_next_row", &GemmFlags::overhang_stored},
    {"split_k_partials_in_bf16", &GemmFlags::bf16_partials},
};

GemmParams params_of(const FusedGemm& gemm, const FusedScope& scope, const DeviceTensor& out) {
  GemmParams params{};
  params.batch = axes_of(gemm.product.batch);
  params.m = axes_of(gemm.product.m);
  params.n = axes_of(gemm.product.n);
  params.k = axes_of(gemm.product.k);
  if (scope.planted("k_tail_skipped") && params.k.extent > 8) params.k.extent -= params.k.extent % 8;
  params.storage = storage_of(out.type.dtype);
  params.activation = activation_of(gemm, scope);
  params.read_a = reading_of(params, params.m, &GemmAxis::a);
  params.read_b = reading_of(params, params.n, &GemmAxis::b);
  params.faults = kernel_faults(scope, kGemmFlags);
  params.faults.out_count = static_cast<int>(element_count(out.type));
  return params;
}

// The operands of one product as buffers.
struct GemmBuffers {
  Buffer a, b, out;
  std::optional<Buffer> bias, addend;

  GemmBuffers(const FusedGemm& gemm, const FusedScope& scope, const DeviceTensor& result)
      : a(scope.at(gemm.product.a).buffer), b(scope.at(gemm.product.b).buffer), out(result.buffer) {
    if (gemm.bias) bias = scope.at(*gemm.bias).buffer;
    if (gemm.addend) addend = scope.at(*gemm.addend).buffer;
  }
};

void launch_own(GemmParams params, const GemmBuffers& buffers, const LaunchContext& at) {
  params.a = at.at(buffers.a);
  params.b = at.at(buffers.b);
  if (buffers.bias) params.bias = at.at(*buffers.bias);
  if (buffers.addend) params.addend = at.at(*buffers.addend);
  params.out = at.at(buffers.out);
  check_cuda(launch_gemm(params, at.stream()), "kernel gemm");
}

bool launch_lt(const LtGemm& lt, const GemmBuffers& buffers, const LaunchContext& at) {
  LtPointers pointers;
  pointers.a = at.at(lt.swapped ? buffers.b : buffers.a);
  pointers.b = at.at(lt.swapped ? buffers.a : buffers.b);
  if (lt.adds_c) pointers.c = at.at(*buffers.addend);
  if (lt.bias) pointers.bias = at.at(buffers.bias ? *buffers.bias : *buffers.addend);
  pointers.d = at.at(buffers.out);
  return launch_lt_gemm(lt, pointers, at.handles());
}

enum class GemmKernel { own, lt };

// Below about 50^3 multiplications gemm.cu is as fast, and cublasLt's heuristic would cost more than the
// product. Campaigns use sizes around this limit, so that they test both.
GemmKernel choose_gemm(const GemmParams& params, bool lt_takes_it) {
  constexpr int64_t kSmall = 1 << 17;
  const int64_t elements = int64_t{params.batch.extent} * params.m.extent * params.n.extent;
  return lt_takes_it && !params.faults.bf16_partials && elements * params.k.extent >= kSmall
             ? GemmKernel::lt
             : GemmKernel::own;
}

bool same_float_dtype(const FusedGemm& gemm, const FusedScope& scope, const DeviceTensor& out) {
  const Dtype dtype = out.type.dtype;
  const auto is_same = [&](ValueId value) { return scope.at(value).type.dtype == dtype; };
  return is_float(dtype) && is_same(gemm.product.a) && is_same(gemm.product.b) &&
         (!gemm.bias || is_same(*gemm.bias)) && (!gemm.addend || is_same(*gemm.addend));
}

bool fits(const BatchedProduct& product) {
  constexpr size_t kMost = kMaxAxes;
  return product.batch.size() <= kMost && product.m.size() <= kMost && product.n.size() <= kMost &&
         product.k.size() <= kMost;
}

}  // namespace

Emitted emit_fused(const FusedGemm& gemm, const FusedScope& scope, const DeviceTensor& out,
                   Emitter& emitter) {
  if (!same_float_dtype(gemm, scope, out) || !fits(gemm.product)) return false;
  const GemmParams params = params_of(gemm, scope, out);
  const GemmBuffers buffers(gemm, scope, out);
  const bool tf32 = emitter.tf32() || params.faults.tf32_for_ieee;
  const auto lt = lt_gemm(gemm, params.k.extent, out.type.dtype, tf32);
  if (choose_gemm(params, lt.has_value()) == GemmKernel::lt) {
    emitter.launch([=](const LaunchContext& at) {
      if (!launch_lt(*lt, buffers, at)) launch_own(params, buffers, at);
    });
  } else {
    emitter.launch([=](const LaunchContext& at) { launch_own(params, buffers, at); });
  }
  return true;
}

}  // namespace fusesmith::backends

// TriangleProduct through triangle.cu.
#include "backends/cuda/emit/dtype_storage.h"
#include "backends/cuda/runtime/check.h"
#include "backends/cuda_fused/emit/emit_fused.h"
#include "backends/cuda_fused/gemm/triangle.h"

namespace fusesmith::backends {

Emitted emit_fused(const TriangleProduct& triangle, const FusedScope& scope, const DeviceTensor& out,
                   Emitter& emitter) {
  const DeviceTensor& x = scope.at(triangle.x);
  if (!is_float(x.type.dtype) || (out.type.dtype != x.type.dtype && out.type.dtype != Dtype::f32))
    return false;
  const auto row = static_cast<int>(2 * triangle.channels);  // of x
  TriangleParams params{};
  params.in = storage_of(x.type.dtype);
  params.out_storage = storage_of(out.type.dtype);
  params.batch = static_cast<int>(triangle.batch);
  params.size = static_cast<int>(triangle.size);
  params.depth = static_cast<int>(triangle.depth);
  params.channels = static_cast<int>(triangle.channels);
  params.batch_step = scope.planted("triangle_batch_index_dropped") ? 0 : params.size * params.depth * row;
  params.line_step = triangle.incoming ? row : params.depth * row;
  params.depth_step = triangle.incoming ? params.size * row : row;
  params.left = static_cast<int>(triangle.left);
  params.right = static_cast<int>(triangle.right);
  params.upcast_skipped = scope.planted("triangle_upcast_skipped");
  emitter.launch([params, from = x.buffer, to = out.buffer](const LaunchContext& at) {
    TriangleParams placed = params;
    placed.x = at.at(from);
    placed.out = at.at(to);
    check_cuda(launch_triangle(placed, at.stream()), "kernel triangle");
  });
  return true;
}

}  // namespace fusesmith::backends

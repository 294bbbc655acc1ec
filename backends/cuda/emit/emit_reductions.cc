// Reductions: one launch of reduce.cu. cudnnReduceTensor is not used: the size of its workspace can only be
// asked with a library handle, and it documents neither the order of its sums nor that the order is always
// the same.
#include <algorithm>

#include "backends/cuda/emit/dtype_storage.h"
#include "backends/cuda/emit/emit_node.h"
#include "backends/cuda/emit/merge_space.h"
#include "backends/cuda/kernels/reduce.h"
#include "backends/cuda/runtime/check.h"

namespace fusesmith::backends {
namespace {

// One pass over the elements along the axes.
Reduction reduction_of(ReducePass pass, const TensorType& x, const Shape& axes) {
  const std::vector<int> reduced = *resolve_axes(axes, x.rank());
  const Shape own = strides_of(x.shape);
  Shape sizes[2], strides[2];  // kept, reduced
  for (size_t d = 0; d < own.size(); ++d) {
    const bool gone = std::binary_search(reduced.begin(), reduced.end(), static_cast<int>(d));
    sizes[gone].push_back(x.shape[d]);
    strides[gone].push_back(own[d]);
  }
  Reduction reduction{};
  reduction.passes[0] = pass;
  reduction.divisors[0] = reduction.divisors[1] = 1;
  reduction.kept = merge_space(sizes[0], {&strides[0], 1});
  reduction.reduced = merge_space(sizes[1], {&strides[1], 1});
  copy_strides(strides[0], reduction.kept_strides);
  copy_strides(strides[1], reduction.reduced_strides);
  reduction.storage = storage_of(x.dtype);
  return reduction;
}

void emit_reduction(const Reduction& reduction, DeviceTensors in, DeviceTensors out, Emitter& emitter) {
  emitter.launch([reduction, from = in[0].buffer, to = out.front().buffer, first = out.back().buffer,
                  two = out.size() > 1](const LaunchContext& at) {
    Reduction placed = reduction;
    placed.x = at.at(from);
    placed.y = at.at(to);
    placed.first = two ? at.at(first) : nullptr;
    check_cuda(launch_reduce(placed, at.stream()), "kernel reduce_rows");
  });
}

}  // namespace

void emit(const ReduceSum& op, DeviceTensors in, DeviceTensors out, Emitter& emitter) {
  emit_reduction(reduction_of(ReducePass::sum, in[0].type, op.axes), in, out, emitter);
}
void emit(const ReduceMean& op, DeviceTensors in, DeviceTensors out, Emitter& emitter) {
  Reduction reduction = reduction_of(ReducePass::sum, in[0].type, op.axes);
  reduction.divisors[0] = static_cast<float>(reduction.reduced.count);
  emit_reduction(reduction, in, out, emitter);
}
void emit(const ReduceMax& op, DeviceTensors in, DeviceTensors out, Emitter& emitter) {
  emit_reduction(reduction_of(ReducePass::max, in[0].type, op.axes), in, out, emitter);
}

void emit(const LogSumExp& op, DeviceTensors in, DeviceTensors out, Emitter& emitter) {
  Reduction reduction = reduction_of(ReducePass::max, in[0].type, op.axes);
  reduction.passes[1] = ReducePass::exponentials;
  reduction.finish = ReduceFinish::log_plus_first;
  emit_reduction(reduction, in, out, emitter);
}

void emit(const VarMean& op, DeviceTensors in, DeviceTensors out, Emitter& emitter) {
  Reduction reduction = reduction_of(ReducePass::sum, in[0].type, op.axes);
  reduction.passes[1] = ReducePass::squared_distances;
  reduction.divisors[0] = static_cast<float>(reduction.reduced.count);
  reduction.divisors[1] = static_cast<float>(reduction.reduced.count - static_cast<int>(op.correction));
  emit_reduction(reduction, in, out, emitter);
}

}  // namespace fusesmith::backends

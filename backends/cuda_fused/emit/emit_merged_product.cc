// MergedProduct: the weights and biases are concatenated in workspace, one FusedGemm multiplies them, and its
// columns are copied to the outputs.
#include "backends/cuda/emit/emit_node.h"
#include "backends/cuda/runtime/check.h"
#include "backends/cuda_fused/emit/emit_fused.h"

namespace fusesmith::backends {
namespace {

// The values of a region, extended by workspace that a fused op can refer to by ValueId.
class Workspace {
 public:
  Workspace(const FusedScope& scope, Dtype dtype, Emitter& emitter)
      : values_(scope.values.begin(), scope.values.end()), dtype_(dtype), emitter_(emitter) {}

  ValueId add(Shape shape) {
    values_.push_back(emitter_.temporary(TensorType{dtype_, std::move(shape)}));
    return static_cast<ValueId>(values_.size()) - 1;
  }
  const DeviceTensor& at(ValueId value) const { return values_[static_cast<size_t>(value)]; }
  // The value with another shape of the same number of elements.
  DeviceTensor view(ValueId value, Shape shape) const {
    return {at(value).buffer, {dtype_, std::move(shape)}};
  }
  std::span<const DeviceTensor> values() const { return values_; }
  Dtype dtype() const { return dtype_; }

 private:
  std::vector<DeviceTensor> values_;
  Dtype dtype_;
  Emitter& emitter_;
};

struct Sizes {
  int64_t rows, columns = 0, depth;

  explicit Sizes(const MergedProduct& merged) : rows(extent(merged.m)), depth(extent(merged.k)) {
    for (const auto& part : merged.parts) columns += part.columns;
  }
};

ValueId gather_weights(const MergedProduct& merged, const Sizes& sizes, Workspace& workspace,
                       Emitter& emitter) {
  const bool transposed = merged.weights_transposed;
  const auto shape = [&](int64_t columns) {
    return transposed ? Shape{columns, sizes.depth} : Shape{sizes.depth, columns};
  };
  const ValueId all = workspace.add(shape(sizes.columns));
  std::vector<DeviceTensor> weights;
  for (const auto& part : merged.parts) weights.push_back(workspace.view(part.weight, shape(part.columns)));
  emit(Concat{transposed ? 0 : 1}, weights, DeviceTensors(&workspace.at(all), 1), emitter);
  return all;
}

// Products without a bias get zeros. Fault: they get uninitialised workspace.
std::optional<ValueId> gather_biases(const MergedProduct& merged, const Sizes& sizes, const FusedScope& scope,
                                     Workspace& workspace, Emitter& emitter) {
  bool any = false;
  for (const auto& part : merged.parts) any = any || part.bias;
  if (!any) return std::nullopt;
  std::vector<DeviceTensor> biases;
  for (const auto& part : merged.parts) {
    const ValueId bias = part.bias ? *part.bias : workspace.add({part.columns});
    biases.push_back(workspace.view(bias, {part.columns}));
    if (part.bias || scope.planted("merged_bias_uninitialised")) continue;
    const auto bytes = static_cast<size_t>(part.columns * size_of(workspace.dtype()));
    emitter.launch([bytes, to = biases.back().buffer](const LaunchContext& at) {
      check_cuda(cudaMemsetAsync(at.at(to), 0, bytes, at.stream()), "cudaMemsetAsync of a missing bias");
    });
  }
  const ValueId all = workspace.add({sizes.columns});
  emit(Concat{0}, biases, DeviceTensors(&workspace.at(all), 1), emitter);
  return all;
}

// The product over all columns, into contiguous rows.
FusedGemm whole_product(const MergedProduct& merged, const Sizes& sizes, ValueId weights) {
  FusedGemm gemm;
  gemm.product = {merged.x, weights, {}, merged.m, {}, merged.k};
  int64_t step = sizes.columns;
  for (auto axis = gemm.product.m.rbegin(); axis != gemm.product.m.rend(); ++axis) {
    axis->b = axis->addend = 0;
    axis->out = step;
    step *= axis->size;
  }
  const bool transposed = merged.weights_transposed;
  gemm.product.n = {{sizes.columns, 0, transposed ? sizes.depth : 1, 1, 0}};
  step = transposed ? 1 : sizes.columns;
  for (auto axis = gemm.product.k.rbegin(); axis != gemm.product.k.rend(); ++axis) {
    axis->b = step;
    axis->out = axis->addend = 0;
    step *= axis->size;
  }
  return gemm;
}

}  // namespace

Emitted emit_fused(const MergedProduct& merged, const FusedScope& scope, DeviceTensors outs,
                   Emitter& emitter) {
  const Sizes sizes(merged);
  if (sizes.columns * std::max(sizes.rows, sizes.depth) > kMaxElements) return false;
  Workspace workspace(scope, outs.front().type.dtype, emitter);
  FusedGemm gemm = whole_product(merged, sizes, gather_weights(merged, sizes, workspace, emitter));
  gemm.bias = gather_biases(merged, sizes, scope, workspace, emitter);
  const ValueId whole = workspace.add({sizes.rows, sizes.columns});
  check(emit_fused(gemm, FusedScope{scope, workspace.values()}, workspace.at(whole), emitter),
        "merged_product: the fused product refused its operands");
  for (size_t i = 0; i < outs.size(); ++i) {
    const auto& part = merged.parts[i];
    const DeviceTensor out{outs[i].buffer, {outs[i].type.dtype, {sizes.rows, part.columns}}};
    emit(Slice{1, part.first, part.first + part.columns}, DeviceTensors(&workspace.at(whole), 1),
         DeviceTensors(&out, 1), emitter);
  }
  return true;
}

}  // namespace fusesmith::backends

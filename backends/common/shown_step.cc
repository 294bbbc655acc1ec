#include "backends/common/shown_step.h"

namespace fusesmith::backends {

bool show_movement(const Op& op, Inputs in, Outputs out, Probe* probe) {
  const bool moves = info(op).op_class == OpClass::movement && out.size() == 1;
  if (!detailed(probe) || !moves || !is_float(out[0].type.dtype)) return false;
  std::vector<Tensor> seen;
  seen.reserve(in.size());
  std::vector<const Tensor*> inputs;
  for (size_t i = 0; i < in.size(); ++i) {
    if (!is_float(in[i]->type.dtype)) {
      inputs.push_back(in[i]);
      continue;
    }
    const InnerValue read(probe, operand_name(i, in.size(), name(op)), static_cast<size_t>(in[i]->size()));
    Tensor& copy = seen.emplace_back(TensorType{Dtype::f32, in[i]->type.shape});
    const Floats stored(*in[i]);
    std::copy(stored.span().begin(), stored.span().end(), copy.as<float>().begin());
    read(0, copy.as<float>());
    inputs.push_back(&copy);
  }
  std::vector<Tensor> moved;
  moved.emplace_back(TensorType{Dtype::f32, out[0].type.shape});
  compute(op, inputs, moved, {});
  const InnerValue result(probe, name(op), static_cast<size_t>(out[0].size()), true);
  write_floats(out[0], [&](std::span<float> y) {
    const std::span<const float> from = std::as_const(moved[0]).as<float>();
    std::copy(from.begin(), from.end(), y.begin());
    result(0, y);
  });
  return true;
}

}  // namespace fusesmith::backends

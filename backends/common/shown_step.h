// The kernels of single nodes as a probe that asks for everything sees them: slower, and on the same values.
#pragma once

#include <array>
#include <tuple>

#include "backends/common/floats.h"
#include "backends/common/kernels.h"
#include "backends/common/strided.h"

namespace fusesmith::backends {

// Computes f of N operands for every element of the output and shows both. False, and nothing is computed,
// if no probe asks for it or the output has no floats.
template <size_t N, class F>
bool show_elements(const Op& op, Inputs in, Tensor& out, const KernelOptions& options, F f) {
  if (!detailed(options.probe) || !is_float(out.type.dtype)) return false;
  const Shape& shape = out.type.shape;
  std::array<std::vector<float>, N> operands;
  for (size_t k = 0; k < N; ++k)
    operands[k] = spread(*in[k], broadcast_strides(in[k]->type.shape, shape), shape);
  const StepValues shown(options.probe, name(op), N, static_cast<size_t>(out.size()));
  write_floats(out, [&](std::span<float> y) {
    for (size_t i = 0; i < y.size(); ++i) {
      std::array<float, N> x;
      for (size_t k = 0; k < N; ++k) x[k] = shown.operand(k, i, operands[k][i]);
      y[i] = shown.result(i, std::apply(f, x));
    }
  });
  return true;
}

// The same for an op that moves floats: its float inputs as they are stored, and its result.
bool show_movement(const Op& op, Inputs in, Outputs out, Probe* probe);

}  // namespace fusesmith::backends

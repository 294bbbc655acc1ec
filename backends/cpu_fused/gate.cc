// Gate: row by row, the activation in f32, its cast if there is one, and the product, rounded once.
#include <algorithm>
#include <vector>

#include "backends/common/floats.h"
#include "backends/common/round_through.h"
#include "backends/cpu_fused/activate.h"
#include "backends/cpu_fused/run_fused.h"
#include "backends/cpu_fused/step_names.h"

namespace fusesmith::backends {

namespace {

// What the kernel shows, in the order of its output's elements.
struct GateValues {
  InnerValue gate, activated, cast, value, product;

  GateValues(const Gate& op, const RegionScope& scope) {
    Probe* const probe = detailed(scope.probe);
    if (!probe) return;
    const auto size = static_cast<size_t>(op.rows * op.columns);
    const auto step =
        std::visit([](const auto& x) { return std::decay_t<decltype(x)>::info.name; }, op.activation);
    gate = InnerValue(probe, operand_name(0, 1, step), size);
    activated = InnerValue(probe, step, size);
    if (op.cast) cast = InnerValue(probe, "cast", size);
    value = InnerValue(probe, StepNames(scope).operand_from_memory<Mul>(), size);
    product = InnerValue(probe, "mul", size, true);
  }
};

}  // namespace

void run_fused(const Gate& gate, const RegionScope& scope, Tensor& out) {
  const Floats gates(scope.floats(gate.gate.value)), values(scope.floats(gate.value.value));
  const GateValues shown(gate, scope);
  const PlacedTensor* const in_memory = scope.place(gate.gate.value);
  const int64_t skipped = in_memory && scope.planted("gate_offset_ignored") ? in_memory->offset() : 0;
  std::vector<float> copy;
  write_floats(out, [&](std::span<float> y) {
    for (int64_t r = 0; r < gate.rows; ++r) {
      const auto at = static_cast<size_t>(r * gate.columns);
      const std::span<float> row = y.subspan(at, static_cast<size_t>(gate.columns));
      std::copy_n(gates.data() - skipped + gate.gate.first + r * gate.gate.pitch, row.size(), row.begin());
      shown.gate(at, row);
      activate(gate.activation, row);
      shown.activated(at, row);
      if (gate.cast) round_through(*gate.cast, row);
      shown.cast(at, row);
      const float* from = values.data() + gate.value.first + r * gate.value.pitch;
      const auto value = shown.value.read(at, {from, row.size()}, copy);
      for (size_t j = 0; j < row.size(); ++j) row[j] *= value[j];
      shown.product(at, row);
    }
  });
}

}  // namespace fusesmith::backends

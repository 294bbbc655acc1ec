// Gate: row by row, the activation in f32, its cast if there is one, and the product, rounded once.
#include <algorithm>

#include "backends/common/floats.h"
#include "backends/cpu_fused/activate.h"
#include "backends/cpu_fused/round_through.h"
#include "backends/cpu_fused/run_fused.h"

namespace fusesmith::backends {

void run_fused(const Gate& gate, const RegionScope& scope, Tensor& out) {
  const Floats gates(scope.at(gate.gate.value)), values(scope.at(gate.value.value));
  write_floats(out, [&](std::span<float> y) {
    for (int64_t r = 0; r < gate.rows; ++r) {
      const std::span<float> row(y.data() + r * gate.columns, static_cast<size_t>(gate.columns));
      std::copy_n(gates.data() + gate.gate.first + r * gate.gate.pitch, row.size(), row.begin());
      activate(gate.activation, row);
      if (gate.cast) round_through(*gate.cast, row);
      const float* value = values.data() + gate.value.first + r * gate.value.pitch;
      for (size_t j = 0; j < row.size(); ++j) row[j] *= value[j];
    }
  });
}

}  // namespace fusesmith::backends

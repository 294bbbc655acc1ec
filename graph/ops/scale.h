// x * factor, or x / factor: a tensor times a number, as frameworks do it with a Python scalar.
#pragma once

#include <cmath>

#include "graph/op_fields.h"

namespace fusesmith::graph {

struct Scale {
  double factor = 1;     // rounded to f32 before use
  bool inverse = false;  // divide by the factor instead

  static constexpr OpInfo info{
      "scale",
      "x * factor (x / factor if inverse); the factor is first rounded to f32; an infinity times 0 is NaN.",
      1, 1, OpClass::pointwise};
  static constexpr auto fields() {
    return std::tuple{Field{"factor", &Scale::factor, RealRange{-1e30, 1e30}, true},
                      Field{"inverse", &Scale::inverse, Free{"divide by the factor"}}};
  }
  bool operator==(const Scale&) const = default;

  static constexpr auto outputs = OutputCount::one;
  static constexpr bool inner_errors = false;
  static constexpr auto work = work_rules::per_output_element;
  static constexpr auto scaling = scaling_rules::as_first_input;
  static constexpr auto axis_relations = axis_rules::broadcast;
  Magnitude magnitude(const MagnitudeOperands& x) const {
    return magnitude_rules::scaled(x, std::abs(inverse ? 1 / factor : factor));
  }
  std::optional<Grid> grid(const GridOperands& x) const {
    const auto rounded = static_cast<double>(static_cast<float>(factor));
    if (!inverse) return grid_rules::scaled(x.in[0], rounded);
    if (!grid_rules::is_power_of_two(std::abs(rounded))) return std::nullopt;
    return grid_rules::scaled(x.in[0], 1 / rounded);
  }
};

inline Result<Types> infer(const Scale& op, TypeSpan inputs) {
  if (op.inverse && static_cast<float>(op.factor) == 0)
    return expected("a factor that is not 0 when inverse");
  return same_float_type(inputs);
}

}  // namespace fusesmith::graph

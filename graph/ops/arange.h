// Evenly spaced integers.
#pragma once

#include "graph/op_fields.h"

namespace fusesmith::graph {

struct Arange {
  int64_t count = 1;
  int64_t start = 0;
  int64_t step = 1;

  static constexpr OpInfo info{"arange", "start, start + step, ... as i32[count].", 0, 0, OpClass::source};
  static constexpr auto fields() {
    return std::tuple{Field{"count", &Arange::count, IntRange{1, 1 << 24}, true},
                      Field{"start", &Arange::start, IntRange{0, 1 << 24}},
                      Field{"step", &Arange::step, IntRange{1, 1 << 6}}};
  }
  bool operator==(const Arange&) const = default;

  static constexpr auto outputs = OutputCount::one;
  static constexpr bool inner_errors = false;
  static constexpr auto work = work_rules::per_output_element;
  static constexpr auto magnitude = magnitude_rules::as_inputs;
  static constexpr auto scaling = scaling_rules::unscaled;
  static constexpr auto axis_relations = axis_rules::fixed_outputs;
  std::optional<Grid> grid(const GridOperands&) const {
    return Grid{0, static_cast<double>(start + (count - 1) * step)};
  }
};

inline Result<Types> infer(const Arange& op, TypeSpan) { return one({Dtype::i32, {op.count}}); }

}  // namespace fusesmith::graph

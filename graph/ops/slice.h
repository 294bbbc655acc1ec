// Part of one axis.
#pragma once

#include "graph/op_fields.h"

namespace fusesmith::graph {

struct Slice {
  int64_t axis = 0;
  int64_t start = 0;
  int64_t stop = 0;
  int64_t step = 1;

  static constexpr OpInfo info{"slice", "x[start:stop:step] along the axis; 0 <= start < stop <= size.", 1, 1,
                               OpClass::movement};
  static constexpr auto fields() {
    return std::tuple{Field{"axis", &Slice::axis, Axis{}, true},
                      Field{"start", &Slice::start, IntRange{0, kMaxElements}, true},
                      Field{"stop", &Slice::stop, IntRange{1, kMaxElements}, true},
                      Field{"step", &Slice::step, IntRange{1, kMaxElements}}};
  }
  bool operator==(const Slice&) const = default;

  static constexpr auto outputs = OutputCount::one;
  static constexpr bool inner_errors = false;
  static constexpr auto work = work_rules::per_output_element;
  static constexpr auto magnitude = magnitude_rules::as_inputs;
  static constexpr auto grid = grid_rules::of_all_inputs;
  static constexpr auto scaling = scaling_rules::as_first_input;
  void axis_relations(AxisRelations& axes) const { axis_rules::all_but(axes, axis); }
};

inline Result<Types> infer(const Slice& op, TypeSpan inputs) {
  const auto axis = resolve_axis(op.axis, inputs[0].rank());
  if (!axis) return Problem{axis.problem()};
  TensorType y = inputs[0];
  int64_t& size = y.shape[static_cast<size_t>(*axis)];
  if (op.start < 0 || op.stop <= op.start || op.stop > size || op.step < 1) {
    return expected("0 <= start < stop <= " + std::to_string(size) + " and step >= 1, got " +
                    std::to_string(op.start) + ":" + std::to_string(op.stop) + ":" + std::to_string(op.step));
  }
  size = (op.stop - op.start + op.step - 1) / op.step;
  return one(y);
}

}  // namespace fusesmith::graph

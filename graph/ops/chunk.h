// One axis cut into equal parts, each an output of its own.
#pragma once

#include "graph/op_fields.h"

namespace fusesmith::graph {

struct Chunk {
  int64_t axis = 0;
  int64_t chunks = 2;

  static constexpr OpInfo info{
      "chunk", "The axis divided into `chunks` equal parts, in order; each part is an output.", 1, 1,
      OpClass::movement};
  static constexpr auto fields() {
    return std::tuple{Field{"axis", &Chunk::axis, Axis{}, true},
                      Field{"chunks", &Chunk::chunks, IntRange{2, 64}, true}};
  }
  bool operator==(const Chunk&) const = default;

  static constexpr auto outputs = OutputCount::several;
  static constexpr SeveralOutputs several{.attribute = "chunks"};
  static constexpr bool inner_errors = false;
  static constexpr auto work = work_rules::per_output_element;
  static constexpr auto magnitude = magnitude_rules::as_inputs;
  static constexpr auto grid = grid_rules::of_all_inputs;
  static constexpr auto scaling = scaling_rules::as_first_input;
  void axis_relations(AxisRelations& axes) const { axis_rules::all_but(axes, axis); }
};

inline Result<Types> infer(const Chunk& op, TypeSpan inputs) {
  const auto axis = resolve_axis(op.axis, inputs[0].rank());
  if (!axis) return Problem{axis.problem()};
  TensorType y = inputs[0];
  int64_t& size = y.shape[static_cast<size_t>(*axis)];
  if (size % op.chunks != 0)
    return expected("chunks that divide " + std::to_string(size) + ", got " + std::to_string(op.chunks));
  size /= op.chunks;
  return Types(static_cast<size_t>(op.chunks), y);
}

}  // namespace fusesmith::graph

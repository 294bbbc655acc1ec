// Axes read backwards.
#pragma once

#include "graph/ops/reduction.h"

namespace fusesmith::graph {

struct Flip {
  Shape axes;

  static constexpr OpInfo info{"flip", "The axes read backwards.", 1, 1, OpClass::movement};
  static constexpr auto fields() { return std::tuple{Field{"axes", &Flip::axes, kAxes, true}}; }
  bool operator==(const Flip&) const = default;
};

inline Result<Types> infer(const Flip& op, TypeSpan inputs) {
  if (const auto axes = resolve_axes(op.axes, inputs[0].rank()); !axes) return Problem{axes.problem()};
  return one(inputs[0]);
}

}  // namespace fusesmith::graph

// Dropout as inference sees it.
#pragma once

#include "graph/op_fields.h"

namespace fusesmith::graph {

struct Dropout {
  double p = 0;

  static constexpr OpInfo info{
      "dropout",
      "x itself: dropout with p = 0. It is an op because graphs contain it and compilers must remove it.", 1,
      1, OpClass::movement};
  static constexpr auto fields() { return std::tuple{Field{"p", &Dropout::p, RealRange{0, 0}}}; }
  bool operator==(const Dropout&) const = default;

  static constexpr auto outputs = OutputCount::one;
  static constexpr bool inner_errors = false;
  static constexpr auto work = work_rules::per_output_element;
  static constexpr auto magnitude = magnitude_rules::as_inputs;
  static constexpr auto grid = grid_rules::of_all_inputs;
  static constexpr auto scaling = scaling_rules::as_first_input;
  static constexpr auto axis_relations = axis_rules::broadcast;
};

inline Result<Types> infer(const Dropout&, TypeSpan inputs) { return same_float_type(inputs); }

}  // namespace fusesmith::graph

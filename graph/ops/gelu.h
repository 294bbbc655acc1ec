// GELU in its two usual forms.
#pragma once

#include "graph/op_fields.h"

namespace fusesmith::graph {

struct Gelu {
  enum class Form : uint8_t { erf, tanh };
  Form form = Form::erf;

  static constexpr std::string_view kForms[] = {"erf", "tanh"};
  static constexpr OpInfo info{"gelu",
                               "0.5 x (1 + erf(x / sqrt(2))), or 0.5 x (1 + tanh(sqrt(2/pi) (x + 0.044715 "
                               "x^3))); gelu(-inf) is NaN (-inf times 0).",
                               1, 1, OpClass::pointwise};
  static constexpr auto fields() { return std::tuple{Field{"form", &Gelu::form, AnyOf{kForms}}}; }
  bool operator==(const Gelu&) const = default;

  static constexpr auto outputs = OutputCount::one;
  static constexpr bool inner_errors = false;
  static constexpr auto work = work_rules::per_output_element;
  static constexpr auto magnitude = magnitude_rules::as_inputs;
  static constexpr auto grid = grid_rules::ramp;
  static constexpr auto scaling = scaling_rules::unscaled;
  static constexpr auto axis_relations = axis_rules::broadcast;
};

inline Result<Types> infer(const Gelu&, TypeSpan inputs) { return same_float_type(inputs); }

}  // namespace fusesmith::graph

// The logarithm of a softmax.
#pragma once

#include "graph/formula.h"
#include "graph/op_fields.h"

namespace fusesmith::graph {

struct LogSoftmax {
  int64_t axis = -1;

  static constexpr OpInfo info{
      "log_softmax",
      "x - max - log(sum(exp(x - max))) along an axis; rows with +inf, NaN or -inf alone are NaN.", 1, 1,
      OpClass::composite};
  static constexpr auto fields() { return std::tuple{Field{"axis", &LogSoftmax::axis, Axis{}}}; }
  bool operator==(const LogSoftmax&) const = default;

  static constexpr Operand operands[] = {{"x"}};
  static constexpr auto outputs = OutputCount::one;
  static constexpr bool inner_errors = true;
  Vars define(const Vars& in) const {
    const Var shifted = in[0] - largest(in[0], axis);
    return {shifted - log(sum(exp(shifted), axis))};
  }
};

}  // namespace fusesmith::graph

// For tests: ops that formulas define. Their cases are made from their declarations, and their definition is
// the formula in f64: what tests hold to it is the graph that it makes, and all that is derived from that.
#pragma once

#include "graph/expand.h"
#include "graph/formula.h"
#include "graph/op_tests/op_test.h"

namespace fusesmith::graph::op_tests {

inline std::vector<OpCase> formula_cases() {
  std::vector<OpCase> cases;
  for_each_op([&]<class T>(std::type_identity<T>) {
    if constexpr (DefinedOp<T>) {
      for (const Shape& shape : {Shape{3, 17}, Shape{2, 5, 3}, Shape{4}, Shape{1, 6}}) {
        Types types;
        for (const Operand& operand : T::operands) types.push_back(operand_type(operand, f(shape)));
        cases.push_back({T{}, types});
      }
    }
  });
  return cases;
}

}  // namespace fusesmith::graph::op_tests

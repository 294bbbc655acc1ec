// Facts about the elements of an i32 value that are known without computing it. gather and index_copy
// require indices that are known to be in range, index_copy distinct ones.
#pragma once

#include <optional>
#include <span>

#include "graph/fill.h"
#include "graph/op.h"

namespace fusesmith::graph {

struct IndexValues {
  IntegerRange range;
  bool distinct;  // no two elements are equal
};

IndexValues index_values(const Fill& fill, const TensorType& type);
// The facts about the op's outputs, given those about its inputs; empty if nothing follows.
std::optional<IndexValues> index_values(const Op& op, std::span<const std::optional<IndexValues>> inputs,
                                        TypeSpan types, const TensorType& output);
// The reason why the op cannot have these inputs, if there is one.
std::optional<Problem> index_problem(const Op& op, std::span<const std::optional<IndexValues>> inputs,
                                     TypeSpan types);

}  // namespace fusesmith::graph

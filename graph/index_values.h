// What is known about the elements of an i32 value without computing it: gather and index_copy take only
// indices that are known to be in range, and index_copy distinct ones.
#pragma once

#include <optional>
#include <span>

#include "graph/fill.h"
#include "graph/op.h"

namespace fusesmith::graph {

struct IndexValues {
  IntegerRange range;
  bool distinct;  // no two are known to be equal: none are
};

IndexValues index_values(const Fill& fill, const TensorType& type);
// Of the op's outputs, from those of its inputs; nothing where they follow from none.
std::optional<IndexValues> index_values(const Op& op, std::span<const std::optional<IndexValues>> inputs,
                                        TypeSpan types, const TensorType& output);
// Why the op may not be given these inputs, if so.
std::optional<Problem> index_problem(const Op& op, std::span<const std::optional<IndexValues>> inputs,
                                     TypeSpan types);

}  // namespace fusesmith::graph

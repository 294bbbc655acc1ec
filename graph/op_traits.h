// The traits that every op declares in its header, as functions of any op; those of a defined op follow from
// its formula. What each trait means stands in graph/traits/; an op that lacks one does not compile
// (op_traits.cc).
#pragma once

#include "graph/op.h"

namespace fusesmith::graph {

// Whether inner rounding errors may make the op's bound too loose to judge by.
bool has_inner_errors(const Op& op);

Work work_of(const Op& op, TypeSpan inputs, const TensorType& output);

// Of all outputs, `output` being the first.
Magnitude magnitude_of(const Op& op, std::span<const Magnitude> inputs, TypeSpan input_types,
                       const TensorType& output);
// As the rules derive it; whether a dtype can hold the grid is not asked.
std::optional<Grid> derived_grid(const Op& op, std::span<const Grid> inputs, TypeSpan input_types,
                                 const TensorType& output);

// One form for each of `outputs` outputs.
OutputForms scaling_of(const Op& op, ScalingNode& node, TypeSpan input_types, size_t outputs);

AxisRelations axis_relations_of(const Op& op, TypeSpan inputs, TypeSpan outputs);

}  // namespace fusesmith::graph

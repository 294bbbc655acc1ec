// Changes of type: a dimension or a dtype changed throughout a graph, with the data and the attributes that
// must follow.
#pragma once

#include <optional>

#include "minimizer/draft.h"
#include "minimizer/edit.h"

namespace fusesmith::minimizer {

// Nothing where the value does not exist or its dimension cannot have that size. The draft need not be valid:
// build() says.
std::optional<Draft> resize(const Graph& graph, const Resize& edit);
std::optional<Draft> change_dtype(const Graph& graph, const ChangeDtype& edit);

// The float values that must have the value's dtype: a cast parts them.
std::vector<bool> dtype_group(const Graph& graph, ValueId value);

}  // namespace fusesmith::minimizer

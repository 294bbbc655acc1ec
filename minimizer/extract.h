// Region extraction: some nodes of a case, alone, on the inputs they really got.
#pragma once

#include <memory>
#include <optional>
#include <span>
#include <vector>

#include "graph/case.h"

namespace fusesmith::minimizer {

using TensorBits = std::shared_ptr<const Tensor>;

// A case of these nodes alone (any order), of one step, with the names they had. What they read from outside
// becomes a literal with the bits in `values` (by ValueId, of one step), but inputs of a case of one step
// keep their recipe, and short chains made from attributes alone (masks, positions) stay nodes. Every value
// that was observed, read outside or not read at all is an output, so that a rewrite may not do more to it
// than before. Nothing when needed bits are missing.
std::optional<Case> extract_region(const Case& test_case, std::span<const int> nodes,
                                   std::span<const TensorBits> values);

// The nodes, and those that compute what they read, in order.
std::vector<int> with_producers(const Graph& graph, std::span<const int> nodes);

}  // namespace fusesmith::minimizer

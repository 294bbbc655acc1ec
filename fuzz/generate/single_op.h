// Cases of single ops, for kernels that compute no others (`--ops`).
#pragma once

#include "fuzz/generate/generator.h"

namespace fusesmith::fuzz {

// One node of one of `options.ops` on inputs of its own, with up to two nodes that make its operands: the
// axis of size 1 of `squeeze`, the distinct indices of `index_copy`. An op for which no exact data is known
// has natural data even if exact data is asked for.
Case generate_single_op(Choices& choices, const GeneratorOptions& options, CaseParts* parts);

}  // namespace fusesmith::fuzz

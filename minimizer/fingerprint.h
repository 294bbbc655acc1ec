// Fingerprint: one number for all that decides how a case runs; equal cases have equal fingerprints on every
// platform.
#pragma once

#include <cstdint>

#include "graph/case.h"

namespace fusesmith::minimizer {

// Of seed, steps, policy and graph with its names (data is drawn by name); not of what the case is expected
// to do.
uint64_t fingerprint(const Case& test_case);

}  // namespace fusesmith::minimizer

// The backend `cpu`: unfused, one kernel and one region for each node; storage dtypes are rounded where
// the graph has them. Needs no GPU and uses no pattern: the baseline for fused executors.
#pragma once

#include "backends/backend.h"

namespace fusesmith::backends {

const Backend& cpu_backend();

}  // namespace fusesmith::backends

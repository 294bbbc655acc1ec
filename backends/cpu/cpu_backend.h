// The backend `cpu`: unfused, one kernel and one region per node, storage dtypes rounded where the graph puts
// it. It needs no GPU and fires no pattern: the baseline that fusing executors are compared with.
#pragma once

#include "backends/backend.h"

namespace fusesmith::backends {

const Backend& cpu_backend();

}  // namespace fusesmith::backends

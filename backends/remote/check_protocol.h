// Conformance of a worker with the protocol itself (docs/workers.md), apart from what it computes.
#pragma once

#include <string>
#include <vector>

#include "backends/remote/worker_process.h"

namespace fusesmith::backends {

struct ProtocolCheck {
  std::string name;
  std::string problem;        // empty: passed
  bool cannot_start = false;  // the process ended before it answered anything
};

// In order; after one that fails nothing more is tried.
std::vector<ProtocolCheck> check_protocol(const WorkerSpec& spec, double seconds);

}  // namespace fusesmith::backends

// A GPU as people and batch systems name it. Independent of CUDA.
#pragma once

#include <string>

#include "graph/namespaces.h"

namespace fusesmith::backends {

struct Gpu {
  std::string uuid;  // "GPU-6f...", as CUDA_VISIBLE_DEVICES takes it
  std::string name;  // "NVIDIA H200"
  bool operator==(const Gpu&) const = default;
};

}  // namespace fusesmith::backends

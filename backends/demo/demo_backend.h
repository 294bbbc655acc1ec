// The backend of `fusesmith demo`: correct, but for a bug in its softmax. It is not in the list of backends;
// only its name selects it.
#pragma once

#include "backends/backend.h"

namespace fusesmith::backends {

inline constexpr std::string_view kDemoBackend = "demo";

const Backend& demo_backend();

}  // namespace fusesmith::backends

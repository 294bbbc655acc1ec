// The one list of backends: what --baseline, --candidate and `list backends` know.
#pragma once

#include <span>
#include <string_view>

#include "backends/backend.h"

namespace fusesmith {

std::span<const Backend* const> all_backends();

// The backend of that name, or null.
const Backend* find_backend(std::string_view name);

}  // namespace fusesmith

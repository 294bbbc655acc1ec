#include "fuzz/backends.h"

#include <array>

#include "backends/cpu/cpu_backend.h"
#include "backends/cpu_fused/cpu_fused_backend.h"

namespace fusesmith {

std::span<const Backend* const> all_backends() {
  static const std::array<const Backend*, 2> backends = {&cpu_backend(), &cpu_fused_backend()};
  return backends;
}

const Backend* find_backend(std::string_view name) {
  for (const Backend* backend : all_backends()) {
    if (backend->name() == name) return backend;
  }
  return nullptr;
}

}  // namespace fusesmith

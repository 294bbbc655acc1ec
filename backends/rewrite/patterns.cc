#include "backends/rewrite/patterns.h"

#include <array>

namespace fusesmith::backends {

std::span<const Pattern> all_patterns() {
#define FUSESMITH_PATTERN(name) name##_pattern(),
  static const std::array kPatterns = {FUSESMITH_FOR_EACH_PATTERN(FUSESMITH_PATTERN)};
#undef FUSESMITH_PATTERN
  return kPatterns;
}

const Pattern* find_pattern(std::string_view name) {
  for (const Pattern& pattern : all_patterns()) {
    if (pattern.name == name) return &pattern;
  }
  return nullptr;
}

}  // namespace fusesmith::backends

// Patterns of names: `*` stands for any characters, `?` for one, everything else for itself.
#pragma once

#include <string_view>

#include "graph/namespaces.h"

namespace fusesmith::fuzz {

// Whether the whole text is one that the pattern stands for.
bool matches(std::string_view pattern, std::string_view text);
// Whether some text is one that both patterns stand for.
bool overlap(std::string_view a, std::string_view b);

}  // namespace fusesmith::fuzz

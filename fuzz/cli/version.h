// What `--version` prints: version, commit, compiler, build type and build options.
#pragma once

#include <string>
#include <string_view>

#include "graph/namespaces.h"

namespace fusesmith::fuzz {

// The first line is "fusesmith VERSION".
std::string version_text(std::string_view commit);

}  // namespace fusesmith::fuzz

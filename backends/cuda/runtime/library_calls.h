// cuBLAS, cuBLASLt and cuDNN are loaded when they are first called, not with the program: their relocations
// alone take 200 MB, also in commands that use no GPU.
#pragma once

#include <optional>
#include <string>

namespace fusesmith::backends {

// Loads them. Why that fails, in one line; empty if all are there.
std::optional<std::string> why_no_libraries();

}  // namespace fusesmith::backends

// The worker that `plugin:PATH.so` starts: it loads the plug-in and answers requests (docs/workers.md) until
// its standard input ends.
#pragma once

#include <string>
#include <string_view>

#include "backends/plugin_memory.h"

namespace fusesmith::backends {

// The argument of the program that makes it this worker; the path of the plug-in follows.
inline constexpr std::string_view kPluginWorker = "plugin-worker";

// `make_cuda_memory` is called if the plug-in wants its tensors on a GPU. Ends the process when standard
// input ends, or with exit code 1 if that holds no requests.
[[noreturn]] void serve_plugin(const std::string& path, const MakePluginMemory& make_cuda_memory);

}  // namespace fusesmith::backends

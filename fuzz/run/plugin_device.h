// The GPU memory that a plug-in gets in this build (backends/plugin_memory.h).
#pragma once

#include "backends/plugin_memory.h"

namespace fusesmith::fuzz {

// The problem says that this build has no CUDA, or that no GPU answers.
Result<std::unique_ptr<PluginMemory>> make_plugin_device_memory();

}  // namespace fusesmith::fuzz

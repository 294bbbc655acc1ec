// A plug-in: a shared library that exports the functions of fusesmith/plugin.h.
#pragma once

#include <fusesmith/plugin.h>

#include <optional>
#include <string>

#include "graph/result.h"

namespace fusesmith::backends {

struct PluginLibrary {
  decltype(&fusesmith_plugin_supports) supports = nullptr;
  decltype(&fusesmith_plugin_run) run = nullptr;
  decltype(&fusesmith_plugin_contract) contract = nullptr;  // null: the default
  int32_t device_type = kDLCPU;
};

// The library stays loaded until the process ends. The problem says what is wrong with the file: it does not
// exist, it cannot be loaded, it lacks a function, it has another version of the ABI.
Result<PluginLibrary> load_plugin(const std::string& path);

}  // namespace fusesmith::backends

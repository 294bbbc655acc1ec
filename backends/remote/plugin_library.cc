#include "backends/remote/plugin_library.h"

#include <dlfcn.h>

#include <filesystem>

namespace fusesmith::backends {
namespace {

namespace fs = std::filesystem;

template <class Function>
Function* find(void* library, const char* name) {
  return reinterpret_cast<Function*>(dlsym(library, name));
}

template <class Function>
std::optional<Problem> require(void* library, const std::string& path, const char* name, Function*& found) {
  found = find<Function>(library, name);
  if (found) return {};
  return Problem{path + ": no function " + name + "; a plug-in exports those of fusesmith/plugin.h"};
}

}  // namespace

Result<PluginLibrary> load_plugin(const std::string& path) {
  std::error_code error;
  if (!fs::exists(path, error)) return Problem{path + ": no such file"};
  // A path without a slash would be looked for among the system's libraries.
  void* const library = dlopen(fs::absolute(path).c_str(), RTLD_NOW | RTLD_LOCAL);
  if (!library) {
    const char* const why = dlerror();
    return Problem{"cannot load the plug-in: " + std::string(why ? why : path)};
  }
  PluginLibrary plugin;
  uint32_t (*version)() = nullptr;
  auto problem = require(library, path, "fusesmith_plugin_abi_version", version);
  if (problem) return *problem;
  if (const uint32_t theirs = version(); theirs != FUSESMITH_PLUGIN_ABI_VERSION) {
    return Problem{path + ": version " + std::to_string(theirs) + " of the plug-in ABI; this program has " +
                   std::to_string(FUSESMITH_PLUGIN_ABI_VERSION) +
                   ", so build it with the header of this version"};
  }
  problem = require(library, path, "fusesmith_plugin_supports", plugin.supports);
  if (!problem) problem = require(library, path, "fusesmith_plugin_run", plugin.run);
  if (problem) return *problem;
  plugin.contract = find<const char*(const char*)>(library, "fusesmith_plugin_contract");
  if (auto* device_type = find<int32_t()>(library, "fusesmith_plugin_device_type"))
    plugin.device_type = device_type();
  if (plugin.device_type != kDLCPU && plugin.device_type != kDLCUDA) {
    return Problem{path + ": fusesmith_plugin_device_type returned " + std::to_string(plugin.device_type) +
                   ", expected kDLCPU (1) or kDLCUDA (2)"};
  }
  return plugin;
}

}  // namespace fusesmith::backends

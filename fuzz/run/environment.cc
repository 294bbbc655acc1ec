#include "fuzz/run/environment.h"

#include <sys/utsname.h>

#include <algorithm>
#include <ctime>
#include <filesystem>
#include <fstream>
#include <set>

#include "backends/faults.h"
#include "fuzz/run/backends.h"

namespace fusesmith::fuzz {

namespace {

// What follows the name and a colon or '=' in the first line of the file that begins with the name.
std::string value_in(const std::filesystem::path& file, std::string_view name) {
  std::ifstream lines(file);
  for (std::string line; std::getline(lines, line);) {
    if (!line.starts_with(name)) continue;
    size_t at = line.find_first_of(":=");
    if (at == std::string::npos) continue;
    at = line.find_first_not_of(" \t\"", at + 1);
    if (at == std::string::npos) return "";
    return line.substr(at, line.find_last_not_of(" \t\"") + 1 - at);
  }
  return "";
}

std::string system_text() {
  utsname system{};
  if (uname(&system) != 0) return "";
  const std::string name = value_in("/etc/os-release", "PRETTY_NAME");
  return (name.empty() ? "" : name + ", ") + system.sysname + " " + system.release + ", " + system.machine;
}

// Of all GPUs, what the driver of NVIDIA tells without its libraries.
void add_gpus(Environment& environment, const std::vector<Gpu>& gpus) {
  for (const Gpu& gpu : gpus) environment.push_back(environment_entry(gpu));
  const std::filesystem::path driver = "/proc/driver/nvidia";
  std::error_code error;
  std::vector<std::filesystem::path> devices;
  for (const auto& entry : std::filesystem::directory_iterator(driver / "gpus", error))
    devices.push_back(entry.path() / "information");
  std::sort(devices.begin(), devices.end());
  if (!gpus.empty()) devices.clear();
  for (const auto& device : devices) {
    const std::string model = value_in(device, "Model");
    if (!model.empty()) environment.push_back(environment_entry({value_in(device, "GPU UUID"), model}));
  }
  const std::string version = value_in(driver / "version", "NVRM version");
  if (!version.empty()) environment.emplace_back("GPU driver", version);
}

std::string today() {
  const std::time_t now = std::time(nullptr);
  std::tm utc{};
  gmtime_r(&now, &utc);
  char text[16];
  return std::strftime(text, sizeof text, "%Y-%m-%d", &utc) > 0 ? text : "";
}

}  // namespace

std::pair<std::string, std::string> environment_entry(const Gpu& gpu) {
  return {"GPU", gpu.name + (gpu.uuid.empty() ? "" : ", " + gpu.uuid)};
}

Environment environment_of(const std::vector<std::string>& backends, std::string_view commit,
                           const std::vector<Gpu>& gpus) {
  Environment environment = {{"fusesmith", "" FUSESMITH_VERSION ", commit " + std::string(commit) +
                                               (kFaultsBuilt ? ", built with faults" : "")},
                             {"system", system_text()},
                             {"CPU", value_in("/proc/cpuinfo", "model name")}};
  add_gpus(environment, gpus);
  std::set<std::string> told;
  for (const std::string& name : backends) {
    const Backend* backend = find_backend(name);
    if (!backend || !told.insert(name).second) continue;
    std::string libraries = backend->device();
    for (const auto& [library, version] : backend->versions()) {
      libraries += libraries.empty() ? "" : ", ";
      libraries += library;
      libraries += " " + version;
    }
    if (!libraries.empty()) environment.emplace_back(name, libraries);
  }
  environment.emplace_back("date", today());
  std::erase_if(environment, [](const auto& entry) { return entry.second.empty(); });
  return environment;
}

}  // namespace fusesmith::fuzz

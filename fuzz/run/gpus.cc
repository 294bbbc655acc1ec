#include "fuzz/run/gpus.h"

#include <algorithm>
#include <cstdlib>
#include <sstream>

#include "backends/demo/demo_backend.h"
#include "backends/faults.h"
#ifdef FUSESMITH_HAS_CUDA
#include "backends/cuda/runtime/list_gpus.h"
#include "backends/cuda/runtime/worker.h"
#endif

namespace fusesmith::fuzz {

namespace {

const char* planted_gpus() { return kFaultsBuilt ? std::getenv("FUSESMITH_PLANTED_GPUS") : nullptr; }

std::string list_of(const std::vector<Gpu>& gpus) {
  std::string text;
  for (size_t i = 0; i < gpus.size(); ++i)
    text += (i == 0 ? "" : ", ") + std::to_string(i) + " (" + gpus[i].uuid + ")";
  return text;
}

bool is_index(const std::string& name) {
  return !name.empty() && name.find_first_not_of("0123456789") == std::string::npos;
}

// The GPU of this index or UUID; as with CUDA_VISIBLE_DEVICES, the beginning of a UUID is enough.
Result<Gpu> find_gpu(const std::string& name, const std::vector<Gpu>& gpus) {
  const Problem missing{"--gpus=" + name + ": there is no such GPU; there are " + list_of(gpus)};
  if (is_index(name)) {
    const size_t index = name.size() < 6 ? std::stoul(name) : gpus.size();
    return index < gpus.size() ? Result<Gpu>(gpus[index]) : Result<Gpu>(missing);
  }
  const auto fits = [&](const Gpu& gpu) { return gpu.uuid.starts_with(name); };
  const auto found = std::find_if(gpus.begin(), gpus.end(), fits);
  if (found == gpus.end()) return missing;
  if (std::count_if(gpus.begin(), gpus.end(), fits) > 1)
    return Problem{"--gpus=" + name + ": several GPUs have a UUID that begins so; there are " +
                   list_of(gpus)};
  return *found;
}

}  // namespace

bool has_planted_gpus() { return planted_gpus() != nullptr; }

Result<std::vector<Gpu>> gpus_here() {
  if (const char* planted = planted_gpus()) {
    std::vector<Gpu> gpus;
    std::istringstream uuids(planted);
    for (std::string uuid; std::getline(uuids, uuid, ',');) gpus.push_back({uuid, "planted GPU"});
    return gpus;
  }
#ifdef FUSESMITH_HAS_CUDA
  if (const auto why = why_no_device()) return Problem{*why};
  return list_gpus();
#else
  return Problem{"this build has no CUDA; configure with -DFUSESMITH_CUDA=ON"};
#endif
}

std::optional<Problem> gpu_names_problem(const std::vector<std::string>& wanted) {
  constexpr std::string_view kPrefix = "GPU-";
  for (const std::string& name : wanted) {
    const bool is_uuid = name.size() > kPrefix.size() && name.starts_with(kPrefix);
    if (!is_uuid && !is_index(name) && !(name == "all" && wanted.size() == 1))
      return Problem{"--gpus: expected all, or indices and UUIDs, as in 0,2 or GPU-8c5f1a20; got '" + name +
                     "'"};
  }
  return {};
}

Result<std::vector<Gpu>> choose_gpus(const std::vector<std::string>& wanted, const std::vector<Gpu>& gpus) {
  if (wanted == std::vector<std::string>{"all"}) return gpus;
  std::vector<Gpu> chosen;
  for (const std::string& name : wanted) {
    const auto gpu = find_gpu(name, gpus);
    if (!gpu) return Problem{gpu.problem()};
    if (std::find(chosen.begin(), chosen.end(), *gpu) != chosen.end())
      return Problem{"--gpus names " + gpu->uuid + " twice"};
    chosen.push_back(*gpu);
  }
  return chosen;
}

bool may_use_gpu(std::string_view backend) {
  return backend != "cpu" && backend != "cpu_fused" && backend != kDemoBackend;
}

}  // namespace fusesmith::fuzz

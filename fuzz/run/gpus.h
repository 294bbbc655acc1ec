// The GPUs that --gpus chooses from.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "backends/gpu.h"
#include "graph/result.h"

namespace fusesmith::fuzz {

// Whether this build has the CUDA backends.
#ifdef FUSESMITH_HAS_CUDA
inline constexpr bool kHasCuda = true;
#else
inline constexpr bool kHasCuda = false;
#endif

// All that CUDA shows to this process, by its index. The problem is one line: this build has no CUDA, or no
// GPU answers. Loads CUDA. In builds with faults, the variable FUSESMITH_PLANTED_GPUS (UUIDs, separated by
// commas) replaces them, for tests without a GPU.
Result<std::vector<Gpu>> gpus_here();

// Whether that variable is set.
bool has_planted_gpus();

// Whether `wanted` is "all", or indices and UUIDs, or beginnings of UUIDs.
std::optional<Problem> gpu_names_problem(const std::vector<std::string>& wanted);

// Those of the list that `wanted` names: "all", or indices and UUIDs, each once. The problem names the one
// that is not there.
Result<std::vector<Gpu>> choose_gpus(const std::vector<std::string>& wanted, const std::vector<Gpu>& gpus);

// Whether the backend may compute on a GPU. Of another program's (docs/workers.md) that is not known.
bool may_use_gpu(std::string_view backend);

}  // namespace fusesmith::fuzz

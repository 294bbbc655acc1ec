// What a report says of the machine and the software that a case ran on.
#pragma once

#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "backends/gpu.h"
#include "graph/namespaces.h"

namespace fusesmith::fuzz {

// Names and values, in the order in which they are shown: fusesmith, CPU, GPUs, libraries, date.
using Environment = std::vector<std::pair<std::string, std::string>>;

// Of this machine now, and of the libraries that the backends with these names tell. What is not known here,
// such as a GPU where there is none, is left out. `commit`: that this program was built from. `gpus`: in
// place of all that this machine has.
Environment environment_of(const std::vector<std::string>& backends, std::string_view commit,
                           const std::vector<Gpu>& gpus = {});

// The entry of a GPU.
std::pair<std::string, std::string> environment_entry(const Gpu& gpu);

}  // namespace fusesmith::fuzz

// `list coverage`: what there is to cover, and how often campaigns met it.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "fuzz/cli/command.h"

namespace fusesmith::fuzz {

inline constexpr std::string_view kCoverageListing = "coverage";

// The counts of all these work directories together (shards, say); without any, only what there is. Exit
// code: 0; 1 where a stats.json cannot be read.
int list_coverage(const std::vector<std::string>& workdirs, bool json, size_t columns, Console& console);

}  // namespace fusesmith::fuzz

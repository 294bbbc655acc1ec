// Which flags a call of a command set, as opposed to those that have their defaults.
#pragma once

#include <set>

#include "fuzz/base/flags.h"

namespace fusesmith::fuzz {

// The names of the flags among arguments that parse_flags accepts.
std::set<std::string> given_flags(const FlagTable& table, std::span<const std::string> args);

}  // namespace fusesmith::fuzz

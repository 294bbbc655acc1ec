// Backends that files name: the expectation of a case, campaign.json. No file starts a program or loads a
// module or a library that it chooses; it may name our own backends, and released libraries
// (WorkerKind::from_files).
#pragma once

#include <optional>
#include <span>
#include <string>
#include <string_view>

#include "graph/result.h"

namespace fusesmith::fuzz {

struct NamedBackend {
  std::string_view flag;  // by which the user would give it: "candidate"
  std::string_view name;  // empty: none
};

// Says of those that may not be started by which flags the user allows them: "case.json: names the program
// 'remote:ssh host worker', which a file may not start; to run it, give --candidate='remote:ssh host
// worker'".
std::optional<Problem> programs_named_by(const std::string& file, std::span<const NamedBackend> backends);

}  // namespace fusesmith::fuzz

// The names in a case file that graph/ does not know: backends, verdicts, deviations, patterns. Commands
// refuse the ones that no build of fusesmith has, since a misspelt expectation would never be compared.
#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "graph/case.h"

namespace fusesmith::fuzz {

// Every name that all_backends() may have, in whatever build; besides them, those of workers.
inline constexpr std::string_view kBackendsOfAllBuilds[] = {"cpu", "cpu_fused", "cuda", "cuda_fused"};

// Whether the backend rewrites graphs by patterns, also where this build lacks it. Of a merged campaign,
// whose shards had several candidates ("cpu_fused, demo"): whether any of them does.
inline bool rewrites_graphs(std::string_view backends) {
  return backends.ends_with("_fused") || backends.find("_fused, ") != std::string_view::npos;
}

// The first name that is not known: "expect.verdict: unknown verdict "defct" (did you mean "defect"?), ...".
// Backends that this build merely lacks are known.
std::optional<Problem> unknown_name(const Case& test_case);

// read_case_file, and then unknown_name; the problem starts with the file's name.
Result<Case> read_known_case(const std::string& path);

}  // namespace fusesmith::fuzz

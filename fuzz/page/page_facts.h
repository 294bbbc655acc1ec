// The facts that the page of `report` shows, and that `report --json` prints (docs/report.md).
#pragma once

#include <nlohmann/json_fwd.hpp>
#include <string>
#include <string_view>
#include <vector>

#include "graph/result.h"

namespace fusesmith::fuzz {

// Of work directories of this version or earlier ones: campaigns, groups of findings, coverage of all of them
// together, the software and the machines. A folder that is no work directory is a problem. `today`: a date.
// `problems`: files of findings that cannot be read, a line each.
Result<nlohmann::ordered_json> page_facts(const std::vector<std::string>& workdirs, std::string_view commit,
                                          const std::string& today,
                                          std::vector<std::string>* problems = nullptr);

}  // namespace fusesmith::fuzz

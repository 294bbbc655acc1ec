// A group of findings as the page shows it.
#pragma once

#include <nlohmann/json_fwd.hpp>

namespace fusesmith::fuzz {

// `number`: of the group, from 1. What verdict.json lacks or has in another form than expected is left out.
nlohmann::ordered_json group_view(const nlohmann::ordered_json& group, size_t number);

// [{"name", "value"}] of the "environment" of a report.
nlohmann::ordered_json environment_rows(const nlohmann::ordered_json& report);

}  // namespace fusesmith::fuzz

// What the template of the page is filled with: the facts as texts, and pictures as numbers.
#pragma once

#include <nlohmann/json_fwd.hpp>

namespace fusesmith::fuzz {

nlohmann::ordered_json page_view(const nlohmann::ordered_json& facts);

}  // namespace fusesmith::fuzz

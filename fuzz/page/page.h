// The page of `report`: one file of HTML without a network (docs/report.md). Facts (page_facts.h) become
// views (page_view.h, finding_view.h), which the templates in parts/ show.
#pragma once

#include <nlohmann/json_fwd.hpp>
#include <string>

namespace fusesmith::fuzz {

// `facts`: of page_facts.
std::string page_html(const nlohmann::ordered_json& facts);

}  // namespace fusesmith::fuzz

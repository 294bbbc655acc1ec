// How fast a campaign was, and what its verdicts were, over time.
#pragma once

#include <nlohmann/json_fwd.hpp>

namespace fusesmith::fuzz {

// Of the "history" of a campaign in page_facts: points of lines and areas in a field of 600 x 120, labels of
// the axes, and shares of verdicts. Null for less than two samples.
nlohmann::ordered_json history_chart(const nlohmann::ordered_json& history);

}  // namespace fusesmith::fuzz

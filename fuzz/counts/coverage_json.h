// Coverage in stats.json: each table an object of objects down to its counts, zeros left out; and the
// coverage gaps, which are made anew and not read.
#pragma once

#include <nlohmann/json_fwd.hpp>

#include "fuzz/counts/coverage.h"
#include "graph/json_place.h"

namespace fusesmith::fuzz {

// A count that stays far below what would overflow when more is added.
void read_count(const Place& place, int64_t& count);

// Adds the tables, and the coverage gaps under the key "holes", to the object.
void write_coverage(nlohmann::ordered_json& object, const Coverage& coverage, int64_t cases);
// What the object's tables have. A table that is missing is of a file from before it was counted; names that
// this build does not know are of another build: neither is counted here.
void read_coverage(const Place& object, Coverage& coverage);

}  // namespace fusesmith::fuzz

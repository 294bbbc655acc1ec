// The neighbours of a minimized case, for people and for scripts: what passes nearby, and for which sizes it
// fails.
#pragma once

#include <nlohmann/json_fwd.hpp>
#include <string>

#include "minimizer/neighbours.h"

namespace fusesmith::fuzz {

// One line for each dimension, dtype, attribute or op that matters: "Fails iff N mod 16 != 0, where N is x
// axis 0 (1 here): holds for all 29 sizes tried, from 1 to 129." Every line ends with a newline.
std::string neighbours_summary(const Neighbours& neighbours);

// The summary, and a table of all that was tried, as Markdown.
std::string neighbours_markdown(const Neighbours& neighbours);

nlohmann::ordered_json to_json(const Neighbours& neighbours);

}  // namespace fusesmith::fuzz

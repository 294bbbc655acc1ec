// Templates of HTML, filled with JSON. Every value is escaped, so that no text of a case file becomes markup.
#pragma once

#include <nlohmann/json_fwd.hpp>
#include <string>
#include <string_view>

#include "graph/namespaces.h"

namespace fusesmith::fuzz {

// In the text of a template:
//   {{key}}             the value, escaped; a number as JSON writes it; "a.b" is member b of member a
//   {{#key}}...{{/key}} once for each element of a list, once for another value; not for null, false, "", 0
//                       and what is empty or missing
//   {{^key}}...{{/key}} where {{#key}} would not
// Inside of a section, keys are looked up in the element first, then outside. "." is the element itself.
// A template that is not well formed, or a key that is found nowhere, is a mistake of this program, and
// aborts.
std::string filled(std::string_view text, const nlohmann::ordered_json& values);

}  // namespace fusesmith::fuzz

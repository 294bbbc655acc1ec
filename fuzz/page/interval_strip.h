// Where a value lies beside the interval of correct values, as a picture.
#pragma once

#include <nlohmann/json_fwd.hpp>
#include <string>

namespace fusesmith::fuzz {

// Of the "element" of a report (docs/report.md): positions in percent of the width, and labels. Null where
// the value or the interval is not finite.
nlohmann::ordered_json interval_strip(const nlohmann::ordered_json& element);

// The member of an object, null if there is none.
nlohmann::ordered_json member(const nlohmann::ordered_json& object, const char* key);

// A number of a report, which JSON may hold as text ("nan"); its text in a few digits.
double number_of(const nlohmann::ordered_json& value);
std::string few_digits(const nlohmann::ordered_json& value);

}  // namespace fusesmith::fuzz

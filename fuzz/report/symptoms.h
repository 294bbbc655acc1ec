// Symptoms in words: what the maintainer of a kernel reads in a title, and the argument that shows the
// failure.
#pragma once

#include <string_view>

#include "oracle/signature.h"

namespace fusesmith::fuzz {

// "writes outside its memory"
std::string_view what_happens(Symptom symptom);

// Whether a NaN or an infinity is there or is missing.
bool is_special(Symptom symptom);
// Whether a stored value is wrong, by its interval, its rounding, or what it should be after inputs were
// scaled or exchanged.
bool is_wrong_value(Symptom symptom);
// Whether memory that is not the tensor's is read or written.
bool is_wrong_access(Symptom symptom);

// One of the arguments of the judge, none of which uses a tolerance.
struct Argument {
  std::string_view name;     // "exact data"
  std::string_view meaning;  // a sentence
};

// By the symptom of a region; `no_bound`: the failing element has exactly one correct value because its bound
// is 0.
Argument argument_of(Symptom symptom, bool no_bound);

}  // namespace fusesmith::fuzz

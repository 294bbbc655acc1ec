// The Python source of every op for the exported NumPy script: functions of f64 arrays that compute the op
// exactly, without the rounding of the result.
#pragma once

#include <set>
#include <string>
#include <string_view>

namespace fusesmith::fuzz {

// The definitions of these functions and of those that they call, in an order in which Python can read them.
std::string numpy_definitions(const std::set<std::string, std::less<>>& names);

// Whether there is a function of that name.
bool has_numpy_definition(std::string_view name);

}  // namespace fusesmith::fuzz

// The resolution of a verdict in words: which change of the outputs would have been found.
#pragma once

#include <string>

#include "oracle/verdict.h"

namespace fusesmith::fuzz {

// "0.39 %".
std::string percent_text(double share);

// " A change of 0.39 % of 'y' would have been found (median of its elements; 0.2 % if all of them change).",
// of the coarsest region of the candidate; empty of findings, and if no region has a resolution.
std::string resolution_text(const Verdict& verdict);

}  // namespace fusesmith::fuzz

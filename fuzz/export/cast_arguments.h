// How exported scripts call their function cast_to, which rounds to a quantized dtype.
#pragma once

#include <string>

#include "graph/op.h"

namespace fusesmith::fuzz {

// What stands after x in "cast_to(x, precision, min_exponent, lowest, largest, beyond, rounding)": what the
// function has to know of the dtype, and what becomes of larger numbers ("nan", "inf", or "None": they
// saturate).
std::string cast_arguments(const Cast& op);

}  // namespace fusesmith::fuzz

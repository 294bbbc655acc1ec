// SHA-256 of FIPS 180-4 (https://doi.org/10.6028/NIST.FIPS.180-4), which names the data files of cases.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <span>
#include <string>

namespace fusesmith::graph {

// 64 hexadecimal digits in lower case, as `sha256sum` prints them.
std::string sha256(std::span<const std::byte> bytes);

}  // namespace fusesmith::graph

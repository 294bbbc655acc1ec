// How wide the tables and help texts are that a command prints: as wide as the terminal that standard output
// is, and otherwise kColumns, so that what scripts and files get does not depend on a window.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>

#include "graph/namespaces.h"

namespace fusesmith::fuzz {

inline constexpr size_t kLeastColumns = 60, kMostColumns = 160;

size_t output_columns();
// Called once, by main: of a terminal with so many columns; 0 if standard output is none.
void set_terminal_columns(size_t columns);

// `text` broken at spaces, every line but the first indented.
std::string in_columns(std::string_view text, size_t indent);

}  // namespace fusesmith::fuzz

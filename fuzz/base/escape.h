// Text that comes from case files, workers and file names, made safe for the place where it is shown.
#pragma once

#include <string>
#include <string_view>

#include "graph/namespaces.h"

namespace fusesmith::fuzz {

// One line without control characters: line breaks and tabs become spaces, other control characters and bytes
// that are not UTF-8 become U+FFFD. Also characters that reverse the direction of text.
std::string printable(std::string_view text);
// The same for a text of several lines.
std::string printable_lines(std::string_view text);

// printable_lines, with the characters that have a meaning in HTML as entities; for text and quoted
// attributes.
std::string html_escaped(std::string_view text);

// printable, with the characters that have a meaning in Markdown or HTML escaped; also for a cell of a table.
std::string markdown_escaped(std::string_view text);
// A span of code, not for a cell of a table; and a block of code of the language, which ends its last line.
std::string markdown_code(std::string_view text);
std::string markdown_block(std::string_view text, std::string_view language = "");

}  // namespace fusesmith::fuzz

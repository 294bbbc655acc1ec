// Text that comes from case files, workers and file names, made safe for the place where it is shown.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

#include "graph/namespaces.h"

namespace fusesmith::fuzz {

inline constexpr std::string_view kReplacement = "\xEF\xBF\xBD";  // U+FFFD in UTF-8

// The length of the UTF-8 sequence at the beginning of a text that is not empty, 0 if there is none; sets its
// code point.
size_t decode_utf8(std::string_view text, uint32_t& point);
// Whether the character may reach a terminal: it is no control character, does not change the direction of
// the text around it, and is not invisible (zero width, tags), so that what is read is what is there.
bool is_shown(uint32_t point);

// One line of characters that are shown: line breaks and tabs become spaces, other characters and bytes that
// are not UTF-8 become U+FFFD.
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

// Colours on a terminal: findings are red, what is clean is green, and nothing else has one. A stream has
// none until enable_colors() is called for it, so that files, pipes and tests get plain text.
#pragma once

#include <cstdint>
#include <iosfwd>
#include <optional>
#include <streambuf>
#include <string>
#include <string_view>
#include <vector>

#include "graph/result.h"

namespace fusesmith::fuzz {

// Written to a stream: what follows has this colour.
enum class Color : uint8_t { plain, red, green };
std::ostream& operator<<(std::ostream& stream, Color color);

// `terminal`: where the stream's text ends up. The sequences are written there, past a PrintableBuffer, so
// that only the program, and no text, makes them.
void enable_colors(std::ostream& stream, std::streambuf* terminal);

enum class ColorWhen : uint8_t { automatic, always, never };
// Takes --color=auto|always|never out of the arguments of any command, before a `--`; the last one counts.
Result<ColorWhen> take_color_flag(std::vector<std::string>& args);
// automatic: on a terminal, unless the environment has NO_COLOR (https://no-color.org) or TERM=dumb.
bool wants_color(ColorWhen when, bool is_terminal);

// Called once, by main: which of the standard streams are terminals.
struct Terminals {
  bool out = false, err = false;
};
void set_terminals(Terminals terminals);
Terminals terminals();

}  // namespace fusesmith::fuzz

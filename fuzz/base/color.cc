#include "fuzz/base/color.h"

#include <algorithm>
#include <array>
#include <cstdlib>
#include <ostream>

namespace fusesmith::fuzz {

namespace {

constexpr std::array<std::string_view, 3> kSequences = {"\x1b[0m", "\x1b[31m", "\x1b[32m"};
constexpr std::array<std::string_view, 3> kWhen = {"auto", "always", "never"};

int terminal_index() {
  static const int index = std::ios_base::xalloc();
  return index;
}

Terminals known_terminals;

bool has_text(const char* variable) {
  const char* value = std::getenv(variable);
  return value && *value != '\0';
}

}  // namespace

std::ostream& operator<<(std::ostream& stream, Color color) {
  auto* terminal = static_cast<std::streambuf*>(stream.pword(terminal_index()));
  const std::string_view sequence = kSequences[static_cast<size_t>(color)];
  if (terminal) terminal->sputn(sequence.data(), static_cast<std::streamsize>(sequence.size()));
  return stream;
}

void enable_colors(std::ostream& stream, std::streambuf* terminal) {
  stream.pword(terminal_index()) = terminal;
}

Result<ColorWhen> take_color_flag(std::vector<std::string>& args) {
  constexpr std::string_view kFlag = "--color";
  ColorWhen when = ColorWhen::automatic;
  for (auto arg = args.begin(); arg != args.end() && *arg != "--";) {
    const bool alone = *arg == kFlag;
    if (!alone && !arg->starts_with(std::string(kFlag) + "=")) {
      ++arg;
      continue;
    }
    if (alone && arg + 1 == args.end()) return Problem{"--color: needs a value, as in --color=never"};
    const std::string value = alone ? *(arg + 1) : arg->substr(kFlag.size() + 1);
    const auto* found = std::find(kWhen.begin(), kWhen.end(), value);
    if (found == kWhen.end())
      return Problem{"--color: expected one of auto, always, never; got '" + value + "'"};
    when = static_cast<ColorWhen>(found - kWhen.begin());
    arg = args.erase(arg, arg + (alone ? 2 : 1));
  }
  return when;
}

bool wants_color(ColorWhen when, bool is_terminal) {
  if (when != ColorWhen::automatic) return when == ColorWhen::always;
  const char* terminal = std::getenv("TERM");
  return is_terminal && !has_text("NO_COLOR") && !(terminal && std::string_view(terminal) == "dumb");
}

void set_terminals(Terminals terminals) { known_terminals = terminals; }
Terminals terminals() { return known_terminals; }

}  // namespace fusesmith::fuzz

// Flags: one table per command, whose rows are bound to the variables that they set. The parser, the help
// text and the suggestions are made from it. Flags take `--name=value` or `--name value`; one hyphen instead
// of two (libFuzzer's way) and hyphens instead of underscores are accepted.
//
// base/ holds what all other folders of fuzz/ may use and what knows nothing of cases: flags and help texts,
// tables and colors, files that are written whole (files.h), signals, exit codes, random choices (choices.h).
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <variant>
#include <vector>

#include "graph/result.h"

namespace fusesmith::fuzz {

// Where the value goes; holds the default until then. A bool is a switch without a value; a list is
// comma-separated.
using Target = std::variant<bool*, int64_t*, uint64_t*, double*, std::string*, std::vector<std::string>*>;

struct Flag {
  enum class Unit { none, seconds };  // seconds: also "90s", "5m", "1h30m"

  std::string_view name = {};
  Target target = {};
  std::string_view value = {};  // its placeholder in the help text: "N", "DIR", "lawful|strict"
  std::string_view doc = {};
  std::string_view default_text = {};  // empty: made from the target's value
  Unit unit = Unit::none;
  double lo = 0, hi = 9e15;               // of numbers, inclusive
  std::vector<std::string> choices = {};  // of strings and list elements; empty: any
  // Choices that begin so, with anything after it.
  std::vector<std::string_view> prefixes = {};
  // Choices that this build lacks, each with the reason why; they are refused with it.
  std::vector<std::pair<std::string_view, std::string_view>> missing_choices = {};
  std::string_view missing = {};  // why this build lacks the flag: it is not offered, and refused with this
  void (*given)(std::string_view value) = nullptr;  // called by parse_flags with what the command line gives
};

struct Positional {
  std::string_view name = {};  // "CASE.json|DIR"
  std::vector<std::string>* target = nullptr;
  size_t min = 0, max = SIZE_MAX;
};

struct Example {
  std::string_view command;  // after "fusesmith "
  std::string_view what;
};

struct FlagTable {
  std::string_view command;
  std::string_view doc;      // one line
  std::string_view details;  // paragraphs
  Positional positional;
  std::vector<Flag> flags;
  std::vector<Example> examples;
  std::string_view missing = {};  // why this build lacks the command
  bool shows = false;  // only prints what is known: a reader who leaves early (`| head`) is no error
};

// Sets the targets; true where --help was among the arguments (then nothing else is looked at). Problems:
// unknown flags (with the nearest known one), values that are missing, of the wrong type, out of range or not
// among the choices, too few or too many arguments.
Result<bool> parse_flags(const FlagTable& table, std::span<const std::string> args);

// What `fusesmith COMMAND --help` prints: what this build offers, or all that any build may offer.
enum class Offer { this_build, every_build };
std::string help_text(const FlagTable& table, Offer offer = Offer::this_build);

// The nearest of the words by edit distance, or nothing when none is near: " (did you mean --seed?)",
// `before` put before the word.
std::string suggestion(std::string_view word, const std::vector<std::string>& words,
                       std::string_view before = "");

// Gives the flag the value that this text stands for.
std::optional<Problem> set_flag(const Flag& flag, const std::string& text);

// --wide: tables that are not cut to 100 columns.
Flag wide_flag(bool& wide);

// The target's value as it would be typed: "cpu", "12", "a,b".
std::string value_text(const Target& target);

}  // namespace fusesmith::fuzz

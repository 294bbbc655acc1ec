// Flags: one table per command, whose rows are bound to the variables they set. The parser, the help text,
// suggestions and campaign.json are all made from it. Flags take `--name=value` or `--name value`.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "graph/result.h"

namespace fusesmith::fuzz {

// Where the value goes; holds the default until then. A bool is a switch without value; a list is
// comma-separated.
using Target = std::variant<bool*, int64_t*, uint64_t*, double*, std::string*, std::vector<std::string>*>;

struct Flag {
  std::string_view name = {};
  Target target = {};
  std::string_view value = {};  // what stands for it in help: "N", "DIR", "lawful|strict"
  std::string_view doc = {};
  std::string_view default_text = {};     // empty: made from the target's value
  double lo = 0, hi = 9e15;               // of numbers, inclusive
  std::vector<std::string> choices = {};  // of strings and list elements; empty: any
  std::string_view no_choice =
      {};  // where not empty and there are no choices: any value is refused with this
  bool identity =
      false;  // decides what a campaign does: kept in campaign.json, may not change when it is resumed
  bool added_later =
      false;  // an identity that campaign.json of an earlier version lacks: any value continues it
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
};

// Sets the targets; true where --help was among the arguments (then nothing else is looked at). Problems:
// unknown flags (with the nearest known one), values of the wrong type, out of range or not among the
// choices, too few or too many arguments.
Result<bool> parse_flags(const FlagTable& table, std::span<const std::string> args);

// What `fusesmith COMMAND --help` prints.
std::string help_text(const FlagTable& table);

// The nearest of the words by edit distance, or nothing when none is near: " (did you mean --seed?)",
// `before` put before the word.
std::string suggestion(std::string_view word, const std::vector<std::string>& words,
                       std::string_view before = "");

// The target's value as it would be typed: "cpu", "12", "a,b".
std::string value_text(const Target& target);

}  // namespace fusesmith::fuzz
